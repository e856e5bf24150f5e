"""A whole server inside a command: the directory held, the store open, requests answered."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from server.access import Access
from server.app import build_app
from server.data_directory import DataDirectory
from server.hosts import own_hosts
from server.listening import bound_socket, listening, local_url_of, stop_signal, url_of
from server.live_services import LiveServices
from server.log_lines import lines_written_aside
from server.settings import Settings, default_data_directory
from server.tokens import TokenFile
from server.wiring import Services, open_for_serving

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers.

    url: its address, without a trailing slash. live: the live half of its services.
    authorization: the header that the owner's requests have; None where none is needed.
    asked_to_stop: set by SIGINT and SIGTERM.
    """

    url: str
    services: Services
    live: LiveServices
    asked_to_stop: asyncio.Event
    authorization: str | None


@asynccontextmanager
async def serving(settings: Settings, command: str) -> AsyncIterator[RunningServer]:
    """Answer requests while the block lasts, then drain and close everything in order.

    Raises:
        DirectoryInUse: another process holds the data directory.
        ListenFailed, InvalidConfig, PersistenceFailed: see what is opened here.
    """
    directory = DataDirectory(settings.data_dir)
    needs_token = settings.auth == "on"
    with (
        lines_written_aside(),
        directory.hold(command) as lock,
        bound_socket(settings.host, settings.port, beyond_loopback=needs_token) as bound,
        stop_signal() as asked_to_stop,
    ):
        hosts = own_hosts(bound, settings.allowed_hosts)
        tokens = TokenFile(directory.token_path)
        authorization = tokens.main().authorization if needs_token else None
        access = Access(tokens) if needs_token else Access.open()
        url = url_of(bound)
        lock.announce(command, local_url_of(bound))
        async with (
            open_for_serving(settings, directory) as services,
            access.following(),
            listening(build_app(services, access, hosts), bound, settings),
        ):
            assert services.live is not None
            _log.info(
                "serving",
                url=url,
                data_dir=str(directory.path),
                how_to_ask=_how_to_ask(directory.path) if needs_token else "without a token",
            )
            try:
                yield RunningServer(url, services, services.live, asked_to_stop, authorization)
            finally:
                # The transports end their streams: a source that ended by itself would tell its
                # client that there is nothing more to come.
                services.live.begin_stop()
            _log.info("stopping")
        _log.info("stopped")


def _how_to_ask(data_dir: Path) -> str:
    """The command that prints the header; what it prints is no business of a log."""
    command = "sessiongraph token show"
    if data_dir == default_data_directory():
        return command
    return f"{command} --data-dir {shlex.quote(str(data_dir))}"
