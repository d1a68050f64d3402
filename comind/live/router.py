"""Parse and dispatch API requests to the routes of all services, independently of HTTP."""

from typing import Any

from pydantic_core import from_json

from comind.errors import LiveError
from comind.live import kaggle_types
from comind.live.competition_routes import COMPETITION_ROUTES
from comind.live.dataset_routes import DATASET_ROUTES
from comind.live.discussion_routes import DISCUSSION_ROUTES
from comind.live.fault_injection import RouteError
from comind.live.notebook_routes import NOTEBOOK_ROUTES
from comind.live.routes import RequestContext, RouteResponse

_STATUS_OF_REASON = {"budget": 429, "sealed": 403}
_HANDLERS = COMPETITION_ROUTES | NOTEBOOK_ROUTES | DISCUSSION_ROUTES | DATASET_ROUTES

REQUEST_TYPES = {
    name: kaggle_types.request_type(name)
    for name in (*_HANDLERS, "security.OAuthService/IntrospectToken")
}
"""The client's request class of every served route `SERVICE/METHOD`."""


def handle(route: str, request: Any, context: RequestContext) -> RouteResponse:
    """Return the response of a route.

    Raises:
        RouteError: the response is an error.
    """
    try:
        return _HANDLERS[route](request, context)
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
