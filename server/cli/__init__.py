"""The command line: one program, ``sessiongraph``, and a file for each of its commands.

Help must appear at once, so a command's file imports nothing heavy until the command runs.
"""

from __future__ import annotations

import io
import sys

import rich_click as click

from server.cli.failures import failure_line
from server.cli.program import program


def main() -> None:
    """Run the command line: exits 0 on success, 2 on wrong usage, 1 on failure."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show it shows a "?"
    try:
        program.main(prog_name="sessiongraph")
    except Exception as error:
        line = failure_line(error)
        if line is None:
            raise
        click.echo(f"sessiongraph: {line}", err=True)
        sys.exit(1)
