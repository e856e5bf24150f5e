"""The program and its commands, each imported only when it is asked for."""

from __future__ import annotations

import importlib
from typing import Final

import rich_click as click
from typing_extensions import override

from server.version import program_version

_COMMANDS: Final = {
    "demo": "demo",
    "serve": "serve",
    "import": "import_",
    "search": "search",
    "show": "show",
    "lineage": "lineage",
    "export": "export",
    "check": "check",
    "reindex": "reindex",
    "backup": "backup",
    "token": "token",
    "schema": "schema",
    "documents": "documents",
}
"""Each command and the module of this package that holds it, in the order of the help."""


class Program(click.RichGroup):
    """A group whose commands are modules of this package."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"server.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command


@click.command(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Try `sessiongraph demo` first. `sessiongraph COMMAND --help` shows examples.",
)
@click.version_option(program_version(), message="%(prog)s %(version)s")
def program() -> None:
    """The memory that AI agents and their front ends share.

    SessionGraph keeps the event logs of agent sessions and answers questions about them over
    GraphQL.
    """
