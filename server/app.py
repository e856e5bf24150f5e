"""The ASGI application: who may speak to it, what it answers, how it refuses."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from schema.operation import one_observation
from schema.planned_lists import PlannedLists
from schema.served import build_schema
from server.access import Access
from server.credentials import NoTokenInAddress
from server.documents import Documents
from server.endpoint import GraphQLEndpoint
from server.graphql_ws import GraphQLWebSocket
from server.hosts import HostCheck
from server.limits import DocumentLimits
from server.operations import Operations
from server.origins import OriginCheck
from server.pages import GRAPHQL_PATH, page_routes
from server.refusals import fault, http_exception
from server.security_headers import SecurityHeaders
from server.settings import Settings
from server.web_addresses import Authority
from server.wiring import Services


def build_app(services: Services, access: Access, hosts: frozenset[Authority]) -> ASGIApp:
    """The application over open services; it opens and closes nothing itself.

    access: who may ask. hosts: by which names it may be asked.
    """
    settings = services.settings
    documents = Documents(_document_limits(settings))
    schema = build_schema([documents.extension], PlannedLists)
    operations = Operations(
        schema, services.of_operations(), documents, frame_context=one_observation
    )
    endpoint = GraphQLEndpoint(operations, access, max_request_bytes=settings.max_request_bytes)
    routes = [
        Route(GRAPHQL_PATH, endpoint, methods=["POST"]),
        WebSocketRoute(GRAPHQL_PATH, GraphQLWebSocket(operations, access)),
        *page_routes(services, access),
    ]
    application = Starlette(
        routes=routes, exception_handlers={HTTPException: http_exception, Exception: fault}
    )
    by_our_pages = OriginCheck(NoTokenInAddress(application), settings.allowed_origins)
    return SecurityHeaders(HostCheck(by_our_pages, hosts))


def _document_limits(settings: Settings) -> DocumentLimits:
    return DocumentLimits(
        tokens=settings.max_query_tokens,
        depth=settings.max_query_depth,
        aliases=settings.max_query_aliases,
    )
