"""Parse and dispatch API requests to the routes of all services, independently of HTTP."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic_core import from_json

from comind.errors import LiveError
from comind.live import kaggle_types
from comind.live.competition_routes import CompetitionRoutes
from comind.live.dataset_routes import DatasetRoutes
from comind.live.discussion_routes import DiscussionRoutes
from comind.live.hosted import HostedCompetition
from comind.live.notebook_routes import NotebookRoutes
from comind.live.routes import Catalog, RequestContext, RouteError, RouteResponse
from comind.live.uploads import Uploads

__all__ = ["REQUEST_TYPES", "Router", "parse_body"]

_STATUS_OF_REASON = {"budget": 429, "sealed": 403}
_SERVICES = (CompetitionRoutes, NotebookRoutes, DiscussionRoutes, DatasetRoutes)

_ROUTES = (
    *(name for each in _SERVICES for name in each.ROUTES),
    "security.OAuthService/IntrospectToken",
)
REQUEST_TYPES = {name: kaggle_types.request_type(name) for name in _ROUTES}
"""The client's request class of every served route `SERVICE/METHOD`."""


class Router:
    """Dispatch requests to the handlers of all services."""

    def __init__(
        self, catalog: Catalog, uploads: Uploads, grade: Callable[[HostedCompetition, int], None]
    ) -> None:
        """Bind the handlers; `grade` schedules the grading of a submission."""
        competitions = CompetitionRoutes(catalog, uploads, grade)
        others = (NotebookRoutes(catalog), DiscussionRoutes(catalog), DatasetRoutes(catalog))
        self._handlers = {
            name: partial(handler, service)
            for service in (competitions, *others)
            for name, handler in service.ROUTES.items()
        }

    def handle(self, route: str, request: Any, context: RequestContext) -> RouteResponse:
        """Return the response of a route.

        Raises:
            RouteError: the response is an error.
        """
        try:
            return self._handlers[route](request, context)
        except LiveError as error:
            raise RouteError(_STATUS_OF_REASON.get(error.reason, 400), str(error)) from None


def parse_body(route: str, body: bytes) -> Any:
    """Parse the JSON body of a request to a route.

    Raises:
        RouteError: 404 for an unknown route, 400 for an invalid body.
    """
    if route not in REQUEST_TYPES:
        raise RouteError(404, f"There is no route {route[:200]}")
    try:
        return kaggle_types.parse_request(REQUEST_TYPES[route], from_json(body or b"{}"))
    except ValueError as error:
        raise RouteError(400, f"The request cannot be parsed: {str(error)[:200]}") from None
