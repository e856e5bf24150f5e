"""``sessiongraph documents``: what the example front end asks, for a server that asks for trust."""

from __future__ import annotations

import rich_click as click

from server.cli.options import Common, common_options, examples


@click.command(
    "documents",
    epilog=examples(
        "sessiongraph documents > documents.json",
        "SESSIONGRAPH_TRUSTED_DOCUMENTS=documents.json sessiongraph serve",
    ),
)
@common_options
def command(common: Common) -> None:
    """Print the GraphQL documents of the app at `/app/`, by their ids.

    With that file as the setting `trusted_documents` the app works on a server that runs trusted
    documents only.
    """
    common.settings()
    from server.frontend import documents

    click.echo(documents(), nl=False)
