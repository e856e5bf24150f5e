"""Options that many commands share, and the settings that come of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

if TYPE_CHECKING:
    from server.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Common:
    """What was given for the options of every command; None: not given."""

    data_dir: Path | None
    config: Path | None
    log_level: str | None

    def settings(self, **options: Any) -> Settings:
        """The settings in force, with further options of the command; logging follows them.

        Raises:
            InvalidConfig: see :func:`server.setting_sources.load_settings`.
        """
        from server.observability import configure_logging
        from server.setting_sources import load_settings

        given = {"data_dir": self.data_dir, "log_level": self.log_level, **options}
        settings = load_settings(given, self.config)
        configure_logging(settings.log_level, settings.log_format)
        return settings


def common_options(command: F) -> Callable[..., Any]:
    """Give a command ``--data-dir``, ``--config`` and ``--log-level``, passed as one ``common``."""

    @click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Directory that holds the store. Default: the platform's user data directory.",
    )
    @click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Settings in TOML. Default: sessiongraph.toml in the data directory.",
    )
    @click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="The least severe message to log, to stderr. Default: info.",
    )
    @functools.wraps(command)
    def with_common(
        *args: Any,
        data_dir: Path | None,
        config: Path | None,
        log_level: str | None,
        **options: Any,
    ) -> Any:
        return command(Common(data_dir, config, log_level), *args, **options)

    return with_common


def listen_options(command: F) -> F:
    """Give a command ``--host``, ``--port`` and ``--auth``."""
    host = click.option(
        "--host",
        help="Address to listen on; others than loopback need --auth on. Default: 127.0.0.1.",
    )
    auth = click.option(
        "--auth",
        type=click.Choice(["on", "off"]),
        help="Whether a token is needed (sessiongraph token); off on loopback only. Default: on.",
    )
    port = click.option(
        "--port", type=click.IntRange(0, 65535), help="Port; 0 picks a free one. Default: 8642."
    )
    return host(port(auth(command)))


def search_option(command: F) -> F:
    """Give a command ``--search``."""
    return click.option(
        "--search",
        type=click.Choice(["on", "off"]),
        help="Whether to keep a full-text index and answer searches. Default: on.",
    )(command)


watch_option = click.option(
    "--watch",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Follow this folder of a recorder, or file, and import what changes. Can be repeated.",
)
"""``--watch``, passed as a tuple of paths."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
"""``--json``, passed as ``as_json``."""


def examples(*lines: str) -> str:
    """The epilog of a command's help."""
    return "\n\n".join(["Examples:", *(f"$ {line}" for line in lines)])
