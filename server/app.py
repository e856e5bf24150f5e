"""The ASGI application: who may speak to it, what it answers, how it refuses."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import ASGIApp

from schema.served import build_schema
from server.endpoint import GraphQLEndpoint
from server.hosts import HostCheck
from server.limits import DocumentLimits
from server.pages import GRAPHQL_PATH, page_routes
from server.refusals import fault, http_exception
from server.security_headers import SecurityHeaders
from server.wiring import Services


def build_app(services: Services) -> ASGIApp:
    """The application over open services; it opens and closes nothing itself."""
    settings = services.settings
    endpoint = GraphQLEndpoint(
        build_schema(extensions=[lambda: DocumentLimits(settings)]),
        services.of_operations(),
        max_request_bytes=settings.max_request_bytes,
    )
    routes = [Route(GRAPHQL_PATH, endpoint, methods=["POST"]), *page_routes(services)]
    application = Starlette(
        routes=routes, exception_handlers={HTTPException: http_exception, Exception: fault}
    )
    return HostCheck(SecurityHeaders(application))
