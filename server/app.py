"""The ASGI application: who may speak to it, what it answers, how it refuses."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from schema.operation import one_observation
from schema.planned_lists import PlannedLists
from schema.served import build_schema
from server.access import Access
from server.cost import CostLimits, CostModel
from server.credentials import NoTokenInAddress
from server.documents import Documents
from server.endpoint import GraphQLEndpoint
from server.graphql_ws import GraphQLWebSocket
from server.hosts import HostCheck
from server.limits import DocumentLimits
from server.metrics import Metrics
from server.occupancy import Occupancy
from server.operation_records import OperationRecords
from server.operations import Operations
from server.origins import OriginCheck
from server.pages import GRAPHQL_PATH, metrics_route, page_routes
from server.refusals import fault, http_exception
from server.security_headers import SecurityHeaders
from server.settings import Settings
from server.trusted_documents import TrustedDocuments
from server.web_addresses import Authority
from server.wiring import Services


def build_app(services: Services, access: Access, hosts: frozenset[Authority]) -> ASGIApp:
    """The application over open services; it opens and closes nothing itself.

    access: who may ask. hosts: by which names it may be asked.

    Raises:
        InvalidConfig: the trusted documents cannot be read.
    """
    settings = services.settings
    documents = Documents(_document_limits(settings), introspection=settings.introspection)
    schema = build_schema(PlannedLists)
    records = OperationRecords(settings.slow_operation_ms / 1000, services.spans)
    operations = Operations(
        schema,
        services.of_operations(),
        documents,
        context=one_observation,
        records=records,
        costs=CostModel(schema._schema, _cost_limits(settings)),
        occupancy=_occupancy(settings),
        trusted=TrustedDocuments.read(
            settings.trusted_documents, only=settings.documents == "trusted"
        ),
        timeout_s=settings.operation_timeout_ms / 1000,
    )
    endpoint = GraphQLEndpoint(
        operations,
        access,
        max_request_bytes=settings.max_request_bytes,
        max_request_values=settings.max_request_values,
        body_timeout_s=settings.request_body_timeout_ms / 1000,
    )
    init_timeout_s = settings.connection_init_timeout_ms / 1000
    socket = GraphQLWebSocket(
        operations,
        access,
        max_request_values=settings.max_request_values,
        init_timeout_s=init_timeout_s,
    )
    routes = [
        Route(GRAPHQL_PATH, endpoint, methods=["POST"]),
        WebSocketRoute(GRAPHQL_PATH, socket),
        *page_routes(services, access),
        metrics_route(Metrics(services, operations), access),
    ]
    application = Starlette(
        routes=routes, exception_handlers={HTTPException: http_exception, Exception: fault}
    )
    answering = _OperationsFirst(endpoint, application)
    by_our_pages = OriginCheck(NoTokenInAddress(answering), settings.allowed_origins)
    return SecurityHeaders(HostCheck(by_our_pages, hosts))


class _OperationsFirst:
    """Leads operations straight to their endpoint, past the routes of everything else.

    Looking for a route costs as much as reading a small operation. The endpoint refuses what it
    refuses by itself, so of what surrounds routes it needs only the answer to what nobody expected.
    """

    def __init__(self, endpoint: GraphQLEndpoint, application: ASGIApp) -> None:
        self._endpoint = ServerErrorMiddleware(endpoint, handler=fault)
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == GRAPHQL_PATH:
            await self._endpoint(scope, receive, send)
        else:
            await self._application(scope, receive, send)


def _document_limits(settings: Settings) -> DocumentLimits:
    return DocumentLimits(
        tokens=settings.max_query_tokens,
        depth=settings.max_query_depth,
        aliases=settings.max_query_aliases,
        characters=settings.max_query_chars,
        comparisons=settings.max_query_comparisons,
    )


def _cost_limits(settings: Settings) -> CostLimits:
    return CostLimits(
        max_operation_cost=settings.max_operation_cost,
        page_max=settings.page_max,
        read_window_max=settings.read_window_max,
        lineage_page_max=settings.lineage_page_max,
        candidate_limit=settings.candidate_limit,
    )


def _occupancy(settings: Settings) -> Occupancy:
    return Occupancy(
        max_websockets=settings.max_websockets,
        max_subscriptions=settings.max_subscriptions,
        max_operations=settings.max_operations,
        max_operations_per_connection=settings.max_operations_per_connection,
        max_running_cost=settings.max_running_cost,
        max_body_bytes=settings.max_body_bytes,
    )
