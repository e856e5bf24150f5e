"""The command line: one program, ``sessiongraph``, and a file for each of its commands.

Help must appear at once, so a command's file imports nothing heavy until the command runs.
"""

from __future__ import annotations

import gc
import io
import sys
from typing import Final

import rich_click as click

from server.cli.failures import failure_line
from server.cli.program import program

OBJECTS_BEFORE_COLLECTION: Final = 10_000
"""New objects that make the collector look for cycles; at the usual 700 it takes a fifth of the
time in which modules are imported, and a tenth of that in which a thousand followers are woken."""


def main() -> None:
    """Run the command line: exits 0 on success, 2 on wrong usage, 1 on failure."""
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION, *gc.get_threshold()[1:])
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
