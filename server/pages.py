"""What a browser and a supervisor ask for beside the API: GraphiQL, the app, health, readiness.

None of it needs a token but the metrics, and none of it shows anything of what is stored without
one.
"""

from __future__ import annotations

from typing import Any, Final

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from server import frontend
from server.access import Access
from server.frontend import Frontend, plain_page
from server.graphiql import (
    ASSET_TYPES,
    CDN_CONTENT_SECURITY_POLICY,
    CONTENT_SECURITY_POLICY,
    asset_path,
    assets_built,
    graphiql_page,
)
from server.metrics import Metrics
from server.open_streams import OpenStreams
from server.refusals import error_response, refusal_response, unauthenticated_response
from server.wiring import Services
from sessiongraph.errors import Forbidden, SessionGraphError, Unauthenticated

GRAPHQL_PATH: Final = "/graphql"


def page_routes(services: Services, access: Access) -> list[Route]:
    """The routes of everything that is not GraphQL."""

    settings = services.settings

    async def graphiql(request: Request) -> Response:
        if not settings.graphiql:
            return error_response(404, "GraphiQL is not served here (graphiql)")
        cdn = request.query_params.get("cdn") == "1" and not assets_built()
        policy = CDN_CONTENT_SECURITY_POLICY if cdn else CONTENT_SECURITY_POLICY
        headers = {"content-security-policy": policy, "cache-control": "no-cache"}
        return HTMLResponse(
            graphiql_page(GRAPHQL_PATH, cdn=cdn, trusted_only=settings.documents == "trusted"),
            headers=headers,
        )

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        path = asset_path(name)
        if path is None:
            return error_response(404, "there is no such file")
        headers = {"cache-control": "no-cache"}
        return FileResponse(path, headers=headers, media_type=ASSET_TYPES[name])

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"}, headers={"cache-control": "no-store"})

    def may_count(request: Request) -> bool:
        """Whether who asks may know how much there is."""
        try:
            access.grant_of_everything(request.scope["headers"])
        except (Unauthenticated, Forbidden):
            return False
        return True

    async def readyz(request: Request) -> Response:
        try:
            async with services.query.observe() as observation:
                counts = await observation.counts()
            search = services.search
            progress = None if search is None else await search.indexing.progress()
        except SessionGraphError as error:
            answer: dict[str, Any] = {"ready": False, "code": error.code}
            if may_count(request):
                answer["reason"] = error.message
            return JSONResponse(answer, 503, headers={"cache-control": "no-store"})
        answer, status = {"ready": True}, 200
        if may_count(request):
            answer |= {"sessions": counts.sessions, "events": counts.events}
            if progress is not None:
                answer |= {"documents": progress.documents, "indexLag": progress.behind}
        if progress is not None and (progress.building or progress.failing):
            answer["ready"], status = False, 503
            state = "cannot be kept up and is tried again" if progress.failing else "is being built"
            answer["reason"] = f"the full-text index {state}; exact reads work"
        return JSONResponse(answer, status, headers={"cache-control": "no-store"})

    return [
        Route("/", graphiql, methods=["GET"]),
        Route("/graphiql/{name}", asset, methods=["GET"]),
        *app_routes(Frontend()),
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
    ]


def metrics_route(metrics: Metrics, access: Access) -> Route:
    """The route of what Prometheus reads, for those who may see all sessions."""

    async def page(request: Request) -> Response:
        try:
            access.grant_of_everything(request.headers.raw)
            text = await metrics.text(OpenStreams.of(request.scope))
        except Unauthenticated as refusal:
            return unauthenticated_response(refusal)
        except Forbidden as refusal:
            return refusal_response(403, refusal)
        except SessionGraphError as error:
            return error_response(503, error.message)
        headers = {"cache-control": "no-store"}
        return Response(text, headers=headers, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return Route("/metrics", page, methods=["GET"])


def app_routes(files: Frontend) -> list[Route]:
    """The routes of the example front end, over the files of one build."""
    policy = {"content-security-policy": frontend.CONTENT_SECURITY_POLICY}

    async def app(request: Request) -> Response:
        if not files.built:
            return HTMLResponse(plain_page(), headers=policy | {"cache-control": "no-cache"})
        file = files.find(request.path_params["name"])
        if file is None:
            return error_response(404, "there is no such file")
        headers = policy | {"cache-control": file.cache_control}
        return FileResponse(file.path, headers=headers, media_type=file.content_type)

    async def to_app(_: Request) -> Response:
        return RedirectResponse("/app/", 308)

    return [
        Route("/app", to_app, methods=["GET"]),
        Route("/app/{name:path}", app, methods=["GET"]),
    ]
