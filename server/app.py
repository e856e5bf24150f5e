"""The ASGI application: who may speak to it, what it answers, how it refuses."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from schema.operation import one_observation
from schema.planned_lists import PlannedLists
from schema.served import build_schema
from server.documents import Documents
from server.endpoint import GraphQLEndpoint
from server.graphql_ws import GraphQLWebSocket
from server.hosts import HostCheck
from server.limits import DocumentLimits
from server.metrics import Metrics
from server.operation_records import OperationRecords
from server.operations import Operations
from server.pages import GRAPHQL_PATH, anybody, metrics_route, page_routes
from server.refusals import fault, http_exception
from server.security_headers import SecurityHeaders
from server.settings import Settings
from server.wiring import Services


def build_app(services: Services) -> ASGIApp:
    """The application over open services; it opens and closes nothing itself."""
    settings = services.settings
    documents = Documents(_document_limits(settings))
    schema = build_schema([documents.extension], PlannedLists)
    records = OperationRecords(settings.slow_operation_ms / 1000, services.spans)
    operations = Operations(
        schema, services.of_operations(), documents, frame_context=one_observation, records=records
    )
    endpoint = GraphQLEndpoint(operations, max_request_bytes=settings.max_request_bytes)
    routes = [
        Route(GRAPHQL_PATH, endpoint, methods=["POST"]),
        WebSocketRoute(GRAPHQL_PATH, GraphQLWebSocket(operations)),
        *page_routes(services),
        metrics_route(Metrics(services, operations), anybody),
    ]
    application = Starlette(
        routes=routes, exception_handlers={HTTPException: http_exception, Exception: fault}
    )
    return HostCheck(SecurityHeaders(application))


def _document_limits(settings: Settings) -> DocumentLimits:
    return DocumentLimits(
        tokens=settings.max_query_tokens,
        depth=settings.max_query_depth,
        aliases=settings.max_query_aliases,
    )
