"""From the name of a route and the body that was sent to what is answered; HTTP is no concern here."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic_core import from_json

from comind.errors import LiveError
from comind.live import wire
from comind.live.catalogue import Hosted
from comind.live.competitions import CompetitionRoutes
from comind.live.publications import DatasetRoutes, DiscussionRoutes, NotebookRoutes
from comind.live.routes import Answer, Asker, RouteError, Shown
from comind.live.uploads import Uploads

__all__ = ["REQUESTS", "Dispatch", "read"]

_REFUSALS = {"budget": 429, "sealed": 403}
_SERVED = (CompetitionRoutes, NotebookRoutes, DiscussionRoutes, DatasetRoutes)

REQUESTS = {name: wire.request_type(name) for served in _SERVED for name in served.ROUTES}
REQUESTS["security.OAuthService/IntrospectToken"] = wire.IntrospectTokenRequest
"""Every route that is served, by the name in its path, with what is asked there."""


class Dispatch:
    """All routes of the services that are served."""

    def __init__(self, shown: Shown, uploads: Uploads, grade: Callable[[Hosted, int], None]) -> None:
        """Serve what is shown; `grade` has a submission graded, now or soon."""
        competitions = CompetitionRoutes(shown, uploads, grade)
        served = (competitions, NotebookRoutes(shown), DiscussionRoutes(shown), DatasetRoutes(shown))
        self._methods = {
            name: partial(method, routes) for routes in served for name, method in routes.ROUTES.items()
        }

    def answer(self, route: str, asked: Any, asker: Asker) -> Answer:
        """Return what a route answers.

        Raises:
            RouteError: the answer is an error.
        """
        try:
            return self._methods[route](asked, asker)
        except LiveError as error:
            raise RouteError(_REFUSALS.get(error.reason, 400), str(error)) from None


def read(route: str, body: bytes) -> Any:
    """Return what is asked of a route.

    Raises:
        RouteError: there is no such route, or the body is no request for it.
    """
    if route not in REQUESTS:
        raise RouteError(404, f"There is no route {route[:200]}")
    try:
        return wire.read_request(REQUESTS[route], from_json(body or b"{}"))
    except ValueError as error:
        raise RouteError(400, f"The request cannot be read: {str(error)[:200]}") from None
