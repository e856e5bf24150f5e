"""The projections of a session as ``show`` prints them: folded from checkpoint and log, kept back.

A command that reads writes no checkpoint; the next server does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from providers.sqlite.checkpoints import SqliteCheckpointStore
from server.cli.output import moment, stderr_console, visible
from server.wiring import Services, all_projections
from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.projections.ladder import Ladder
from sessiongraph.projections.views import Snapshot

_IN_THE_HEAD: Final = frozenset({"title"})
_MARKS: Final = {"completed": "✓", "in_progress": "▸"}
_MS: Final = "Ms"


async def views_of(services: Services, session_id: str) -> Snapshot | None:
    """Every view of a stored session, up to the end of its log; None when that is damaged.

    Raises:
        SessionNotFound: there is none.
        PersistenceFailed: the store cannot be read.
    """
    ladder = Ladder(services.store, SqliteCheckpointStore(services.store))
    try:
        opened = await ladder.open(session_id, all_projections().routes)
    except CorruptSession as error:
        text = Text(visible(f"its projections cannot be read: {error.message}"))
        stderr_console().print(text, soft_wrap=True)
        return None
    return opened.cells.snapshot()


def views_as_json(snapshot: Snapshot | None) -> dict[str, Any] | None:
    """All views for programs, as the API has them."""
    return (
        None
        if snapshot is None
        else {
            "asOfSeq": snapshot.as_of_seq,
            "views": [
                {"key": view.key, "seq": view.seq, "value": view.value} for view in snapshot.views
            ],
        }
    )


def print_views(console: Console, snapshot: Snapshot | None) -> None:
    """What there is to say of a session, one view after the other; what says nothing is left out.

    The title stands above already, and the outline is the transcript below in short.
    """
    shown = [
        (view.key, lines)
        for view in (() if snapshot is None else snapshot.views)
        if view.key not in _IN_THE_HEAD and view.seq >= 0
        for lines in (_lines(view.key, view.value),)
        if lines
    ]
    if not shown:
        return
    width = max(len(key) for key, _ in shown) + 2
    for key, lines in shown:
        for place, line in enumerate(lines):
            name = key if place == 0 else ""
            console.print(Text.assemble((name.ljust(width), "dim"), visible(line)))
    console.print()


def _lines(key: str, value: Any) -> list[str]:
    if value is None:
        return []
    if key == "todos":
        return [f"{_MARKS.get(each['status'], '·')} {each['content']}" for each in value]
    if key == "turnOutline":
        return [f"{len(value)} turn{'s' if len(value) != 1 else ''}"]
    if key == "goal":
        return [f"{value['goal']['objective']} ({value['goal']['phase']})"]
    if isinstance(value, dict):
        return _members(value)
    return [_plain(value)]


def _members(value: Mapping[str, Any]) -> list[str]:
    """An object on one line; members without a value, and all that is nothing yet, left out."""
    said = [_said(name, member) for name, member in value.items() if member or member == 0]
    return [", ".join(said)] if any(value.values()) else []


def _said(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return name if value else f"not {name}"
    if name.endswith("At") and isinstance(value, int):
        return f"{name} {moment(value)}"
    if name.endswith(_MS) and isinstance(value, int):
        return f"{name.removesuffix(_MS)} {value / 1000:.1f} s"
    return f"{name} {_plain(value)}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else lossless.encode(value).decode("utf-8", "replace")
