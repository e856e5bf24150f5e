"""One HTTP server in this process: a socket of our own, handed to uvicorn, started and stopped.

uvicorn would take the signals for itself and end the process by them; here a signal only asks for
the end, and everything that was opened around the server is closed in order afterwards.
"""

from __future__ import annotations

import asyncio
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
from server.settings import Settings
from sessiongraph.errors import InvalidConfig

_SHARE_OF_REQUESTS: Final = 0.8
"""How much of the time of a clean stop running requests may use; the rest is for the store."""


class ListenFailed(OperatorError):
    """The address cannot be listened on; the message says why."""


@contextmanager
def bound_socket(host: str, port: int) -> Iterator[socket.socket]:
    """A socket bound to a loopback address; port 0 picks a free one.

    Raises:
        InvalidConfig: the host is not loopback.
        ListenFailed: there is no such host, or the port is taken.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ListenFailed(f"cannot listen on {host}: {error.strerror or error}") from error
    family, kind, protocol, _, address = found[0]
    if not is_loopback_host(str(address[0])):
        raise InvalidConfig(
            f"host {host} is not loopback (127.0.0.1, ::1, localhost): listening elsewhere needs "
            "authentication, which this version does not have"
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
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, saying when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(app: ASGIApp, bound: socket.socket, settings: Settings) -> AsyncIterator[None]:
    """Answer requests on a bound socket until the block ends, then drain.

    Requests that still run late in ``shutdown_grace_s`` are cancelled, and waited for.
    """
    server = _Server(_uvicorn_config(app, settings))
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    ready = asyncio.create_task(server.ready.wait())
    try:
        await asyncio.wait({serving, ready}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await serving
        yield
    finally:
        server.should_exit = True
        await serving
        if server.server_state.tasks:
            rest = settings.shutdown_grace_s * (1 - _SHARE_OF_REQUESTS)
            await asyncio.wait(server.server_state.tasks, timeout=rest / 2)


def _uvicorn_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="debug" if settings.log_level == "debug" else "warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(settings.shutdown_grace_s * _SHARE_OF_REQUESTS),
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
