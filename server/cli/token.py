"""``sessiongraph token``: the tokens that a server takes, shown, made, listed and revoked.

They work on the token file, whether a server runs or not; one that runs sees every change within a
second.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from server.cli.options import Common, common_options, examples, json_option

if TYPE_CHECKING:
    from server.tokens import Token, TokenFile


@click.group(
    "token",
    epilog=examples(
        "sessiongraph token show",
        "sessiongraph token show | curl -H @- …",
        "sessiongraph token create --scope read --cwd ~/project",
        "sessiongraph token list",
        "sessiongraph token revoke 1f3a9c2e",
    ),
)
def command() -> None:
    """Show, create, list and revoke the tokens by which programs and people may ask a server."""


@command.command(
    "show", epilog=examples("sessiongraph token show", "sessiongraph token show --json")
)
@json_option
@common_options
def show(common: Common, as_json: bool) -> None:
    """Print your own token as a ready-made header; it is made when there is none.

    It may do everything. It belongs into headers and password fields and never into an address.
    """
    from server.cli.output import print_json

    token = _tokens(common).main()
    if as_json:
        print_json({"authorization": token.authorization, "token": token.secret, "id": token.id})
    else:
        click.echo(f"Authorization: {token.authorization}")


@command.command(
    "create",
    epilog=examples(
        "sessiongraph token create --scope read",
        "sessiongraph token create --scope write --cwd ~/project --cwd ~/other --name editor",
    ),
)
@click.option(
    "--scope",
    type=click.Choice(["read", "write", "admin"]),
    required=True,
    help="read: queries and subscriptions; write: sessions are written as well; admin: also what "
    "cannot be undone or reads the server's files.",
)
@click.option(
    "--cwd",
    "prefixes",
    multiple=True,
    metavar="PREFIX",
    help="Only sessions at or below this directory exist for the token. Can be repeated.",
)
@click.option("--name", help="What you call it, for the list.")
@json_option
@common_options
def create(
    common: Common, scope: str, prefixes: tuple[str, ...], name: str | None, as_json: bool
) -> None:
    """Make a token and print it as a ready-made header, this once: only its hash is kept.

    The id by which it can be revoked goes to stderr.
    """
    from server.cli.output import print_json
    from sessiongraph.access import Scope

    cwd = tuple(_directory(prefix) for prefix in prefixes) or None
    token, secret = _tokens(common).create(Scope(scope), cwd, name)
    if as_json:
        print_json({**_shown(token), "authorization": f"Bearer {secret}", "token": secret})
    else:
        click.echo(f"Authorization: Bearer {secret}")
        click.echo(f"made {token.id}: `sessiongraph token revoke {token.id}` ends it", err=True)


@command.command(
    "list", epilog=examples("sessiongraph token list", "sessiongraph token list --json")
)
@json_option
@common_options
def list_(common: Common, as_json: bool) -> None:
    """Print what tokens there are; their secrets are not shown."""
    from rich.table import Table

    from server.cli.output import moment, print_json, stdout_console, visible

    tokens = _tokens(common).read()
    if as_json:
        print_json([_shown(token) for token in tokens])
        return
    table = Table("id", "name", "scope", "directories", "created", box=None)
    for token in tokens:
        directories = "all" if token.cwd is None else "\n".join(token.cwd)
        row = (token.id, token.name or "", token.scope, directories, moment(token.created_at))
        table.add_row(*map(visible, row))
    stdout_console().print(table)


@command.command("revoke", epilog=examples("sessiongraph token revoke 1f3a9c2e"))
@click.argument("token_id", metavar="ID")
@json_option
@common_options
def revoke(common: Common, token_id: str, as_json: bool) -> None:
    """Make a token worthless; a running server closes what is open by it within a second.

    After your own was revoked, `sessiongraph token show` makes a new one.
    """
    from server.cli.output import print_json

    token = _tokens(common).revoke(token_id)
    if as_json:
        print_json(_shown(token))
    else:
        click.echo(f"revoked {token.id}")


def _tokens(common: Common) -> TokenFile:
    from server.data_directory import DataDirectory
    from server.tokens import TokenFile

    return TokenFile(DataDirectory(common.settings().data_dir).token_path)


def _shown(token: Token) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "cwd": None if token.cwd is None else list(token.cwd),
        "createdAt": token.created_at,
    }


def _directory(text: str) -> str:
    """A directory as sessions have it: absolute, without a slash at its end.

    A blank one is refused: it is the value of a variable that is not set, and would stand for the
    directory that the command happens to run in.
    """
    if not text.strip():
        raise click.BadParameter("a directory cannot be blank", param_hint="'--cwd'")
    path = os.path.abspath(Path(text).expanduser())  # noqa: PTH100 - no ".." is left
    return "/" + path.lstrip("/")
