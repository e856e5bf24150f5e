"""A whole server inside a command: the directory held, the store open, requests answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

from server.app import build_app
from server.data_directory import DataDirectory
from server.listening import bound_socket, listening, stop_signal, url_of
from server.live_services import LiveServices
from server.settings import Settings
from server.wiring import Services, open_for_serving

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers.

    url: its address, without a trailing slash. live: the live half of its services.
    asked_to_stop: set by SIGINT and SIGTERM.
    """

    url: str
    services: Services
    live: LiveServices
    asked_to_stop: asyncio.Event


@asynccontextmanager
async def serving(settings: Settings, command: str) -> AsyncIterator[RunningServer]:
    """Answer requests while the block lasts, then drain and close everything in order.

    Raises:
        DirectoryInUse: another process holds the data directory.
        ListenFailed, InvalidConfig, PersistenceFailed: see what is opened here.
    """
    directory = DataDirectory(settings.data_dir)
    with (
        directory.hold(command) as lock,
        bound_socket(settings.host, settings.port) as bound,
        stop_signal() as asked_to_stop,
    ):
        url = url_of(bound)
        lock.announce(command, url)
        async with (
            open_for_serving(settings, directory) as services,
            listening(build_app(services), bound, settings),
        ):
            assert services.live is not None
            _log.info("serving", url=url, data_dir=str(directory.path))
            try:
                yield RunningServer(url, services, services.live, asked_to_stop)
            finally:
                # The transports end their streams: a source that ended by itself would tell its
                # client that there is nothing more to come.
                services.live.begin_stop()
            _log.info("stopping")
        _log.info("stopped")
