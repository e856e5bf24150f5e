"""One HTTP server in this process: a socket of our own, handed to uvicorn, started and stopped.

uvicorn would take the signals for itself and end the process by them; here a signal only asks for
the end, and everything that was opened around the server is closed in order afterwards.

A stop begins with the streams (:mod:`server.open_streams`), which uvicorn would cut off at once.
What is still open at the very end is cut off for good, whether or not its client has taken what was
sent to it.

A client can be gone without a word (a machine that sleeps, a network that broke), or be there and
read nothing. The first is found out by pings over WebSocket, both by the operating system where it
can: a connection on which nothing that was sent has been taken for a while is given up.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from typing_extensions import override

from server.failures import OperatorError
from server.hosts import is_loopback_host
from server.http_protocol import ConnectionLimits, HttpProtocol
from server.open_streams import OpenStreams
from server.settings import Settings
from server.web_addresses import Authority
from server.ws_protocol import UnfinishedMessages, WebSocketProtocol
from sessiongraph.errors import InvalidConfig

_SHARE_OF_REQUESTS: Final = 0.8
"""How much of the time of a clean stop running requests may use; the rest is for the store."""


PING_EVERY_S: Final = 20.0
"""Between two pings to a client over WebSocket."""

PONG_WITHIN_S: Final = 40.0
"""How long such a client may take to answer a ping: what it has not read yet stands before it."""

_HEAD_BYTES: Final = 64 * 1024
"""Longest head of a request."""

_FILES_BESIDE: Final = 512
"""Open files that are no connections of clients: the store's, the index's, recorders' files."""


class ListenFailed(OperatorError):
    """The address cannot be listened on; the message says why."""


@contextmanager
def bound_socket(host: str, port: int, *, beyond_loopback: bool = False) -> Iterator[socket.socket]:
    """A socket bound to an address; port 0 picks a free one.

    beyond_loopback: whether it may be another than loopback.

    Raises:
        InvalidConfig: it is, and may not be.
        ListenFailed: there is no such host, or the port is taken.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenFailed(f"cannot listen on {host}: {error.strerror or error}") from error
    family, kind, protocol, _, address = found[0]
    if not (beyond_loopback or is_loopback_host(str(address[0]))):
        raise InvalidConfig(
            f"host {host} is not loopback (127.0.0.1, ::1, localhost): listening elsewhere needs "
            "authentication (--auth on)"
        )
    with socket.socket(family, kind, protocol) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
        except OSError as error:
            raise ListenFailed(
                f"cannot listen on {host}:{port}: {error.strerror} (--port 0 picks a free port)"
            ) from error
        yield bound


def url_of(bound: socket.socket) -> str:
    """The address of a bound socket as a client writes it, without a trailing slash."""
    host, port = bound.getsockname()[:2]
    return f"http://{Authority(host, port)}"


def local_url_of(bound: socket.socket) -> str:
    """The address at which programs on this machine reach a bound socket, also if it is on all."""
    host, port = bound.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{Authority(host, port)}"


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, saying when it answers, and stopping in our order."""

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._settings = settings
        self._grace_s = settings.shutdown_grace_s * _SHARE_OF_REQUESTS
        self._streams = OpenStreams()

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        state, settings = self.lifespan.state, self._settings
        self._streams.hand_to(state)
        head_timeout_s = settings.request_head_timeout_ms / 1000
        ConnectionLimits(settings.max_connections, head_timeout_s, _HEAD_BYTES).hand_to(state)
        UnfinishedMessages(settings.max_body_bytes).hand_to(state)
        await super().startup(sockets)
        self.ready.set()

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await self._streams.stop(self._grace_s)
        rest = self._grace_s - (loop.time() - begun)
        self.config.timeout_graceful_shutdown = max(0.0, rest)  # type: ignore[assignment]
        await super().shutdown(sockets)

    async def cut_off(self, within_s: float) -> None:
        """Close what is still open, and wait for what still runs."""
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=within_s)

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(app: ASGIApp, bound: socket.socket, settings: Settings) -> AsyncIterator[None]:
    """Answer requests on a bound socket until the block ends, then drain.

    Streams are ended; requests that still run late in ``shutdown_grace_s`` are cancelled, and
    waited for.
    """
    _give_up_dead_clients(bound, settings.stalled_client_ms)
    _allow_connections(settings.max_connections)
    server = _Server(_uvicorn_config(app, settings), settings)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    ready = asyncio.create_task(server.ready.wait())
    try:
        await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await serving
        # What is there now stays: to look for garbage among it would stop everything for 60 ms.
        gc.freeze()
        yield
    finally:
        gc.unfreeze()
        server.should_exit = True
        await serving
        await server.cut_off(settings.shutdown_grace_s * (1 - _SHARE_OF_REQUESTS) / 2)


def _give_up_dead_clients(bound: socket.socket, within_ms: int) -> None:
    """Let the system close a connection whose client takes nothing; accepted sockets inherit it."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        bound.setsockopt(socket.IPPROTO_TCP, option, within_ms)


def _allow_connections(most: int) -> None:
    """Let this process have as many open files as it may have connections, if the system lets us.

    Where it does not, further connections wait in the system's queue until others have ended.
    """
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _FILES_BESIDE
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        http=HttpProtocol,
        timeout_keep_alive=settings.keep_alive_s,
        ws=WebSocketProtocol,
        ws_max_size=settings.max_request_bytes,
        ws_ping_interval=PING_EVERY_S,
        ws_ping_timeout=PONG_WITHIN_S,
        ws_per_message_deflate=False,
        log_config=None,
        log_level="debug" if settings.log_level == "debug" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )


@contextmanager
def stop_signal() -> Iterator[asyncio.Event]:
    """An event that SIGINT or SIGTERM sets while the block lasts; later ones change nothing."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    try:
        yield asked
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
