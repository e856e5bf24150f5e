"""Families of sessions: the ancestors of many at once, and pages of descendants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiongraph.corpus import CorpusView, LogicalSession
from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import SessionGraphError, StaleCursor
from sessiongraph.lineage import AncestorPath, Descendant, ancestor_path, descendants_in_order
from sessiongraph.paging import Page, PageRequest

_FOUND_AT_ONCE: Final = 200
"""Sessions looked up before others get their turn on the event loop."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """One session's place among its ancestors."""

    target: LogicalSession
    ancestors: tuple[LogicalSession, ...]
    path: AncestorPath

    @property
    def complete(self) -> bool:
        return self.path.complete

    @property
    def root(self) -> LogicalSession:
        """The oldest ancestor, or the session itself; meaningful when complete."""
        return self.ancestors[-1] if self.ancestors else self.target


@dataclass(frozen=True, slots=True)
class LineageNode:
    """One descendant; depth is 1 for direct children."""

    session: LogicalSession
    parent_id: str
    depth: int


async def lineages(
    view: CorpusView, sessions: Sequence[LogicalSession]
) -> dict[str, Lineage | SessionGraphError]:
    """The ancestry of each session; a circle fails for its own session only."""
    found = await view.ancestors([session.session_id for session in sessions])
    answers: dict[str, Lineage | SessionGraphError] = {}
    for session in sessions:
        ancestors = found.get(session.session_id, [])
        try:
            path = ancestor_path(
                session.session_id,
                session.header.parent_session,
                [(each.session_id, each.header.parent_session) for each in ancestors],
            )
        except SessionGraphError as error:
            answers[session.session_id] = error
        else:
            known = tuple(ancestors[: len(path.ancestor_ids)])
            answers[session.session_id] = Lineage(session, known, path)
    return answers


async def page_of_descendants(
    view: CorpusView,
    cursors: CursorCodec,
    session: LogicalSession,
    request: PageRequest,
    most: int,
) -> Page[LineageNode]:
    """A page of the forest below a session, in pre-order; most: nodes of it.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    limit = request.limit(default=most, maximum=most)
    root_id = session.session_id
    links = await view.descendants(root_id)
    ordered = await asyncio.to_thread(descendants_in_order, root_id, links)
    start = 0
    if request.after is not None:
        (last_id,) = cursors.read("descendants", root_id, request.after)
        start = _place_after(ordered, last_id)
    cut = ordered[start : start + limit]
    found: dict[str, LogicalSession] = {}
    for begin in range(0, len(cut), _FOUND_AT_ONCE):
        part = cut[begin : begin + _FOUND_AT_ONCE]
        found.update(await view.find([node.session_id for node in part]))
        await asyncio.sleep(0)
    nodes = [
        LineageNode(found[node.session_id], node.parent_id, node.depth)
        for node in cut
        if node.session_id in found
    ]
    return Page(
        nodes,
        lambda node: cursors.issue("descendants", root_id, [node.session.session_id]),
        has_next_page=start + limit < len(ordered),
        has_previous_page=start > 0,
        total_count=len(ordered),
    )


def _place_after(ordered: Sequence[Descendant], session_id: str) -> int:
    for index, node in enumerate(ordered):
        if node.session_id == session_id:
            return index + 1
    raise StaleCursor(f"{session_id!r} is no longer among the descendants")
