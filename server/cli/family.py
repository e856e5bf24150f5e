"""The family of a session: collected from the corpus, drawn as a tree or told as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text
from rich.tree import Tree

from server.cli.output import moment, stdout_console, visible
from server.cli.reading import session_of
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionGraphError
from sessiongraph.paging import PageRequest
from sessiongraph.query import Lineage, LineageNode, Observation

_DEEPEST_DRAWN: Final = 24
"""Levels that are indented; what lies deeper stands there with its depth written out."""


@dataclass(frozen=True, slots=True)
class Family:
    """A session with everybody that descends from its oldest known ancestor, in pre-order."""

    lineage: Lineage
    descendants: tuple[LineageNode, ...]


async def family_of(observation: Observation, session_id: str) -> Family:
    """The family of a session.

    Raises:
        SessionNotFound: there is no such session.
        InvalidLineage: its ancestry runs in a circle.
    """
    session = await session_of(observation, session_id)
    lineage = (await observation.lineages([session]))[session_id]
    if isinstance(lineage, SessionGraphError):
        raise lineage
    nodes: list[LineageNode] = []
    after: str | None = None
    while True:
        page = await observation.list_descendants(lineage.root, PageRequest(after=after))
        nodes.extend(page.items)
        if not page.has_next_page:
            return Family(lineage, tuple(nodes))
        after = page.end_cursor


def print_family(family: Family) -> None:
    """The tree, to stdout."""
    lineage = family.lineage
    marked = lineage.target.session_id
    root = Tree(_label(lineage.root, marked))
    path = [root]
    for node in family.descendants:
        depth = min(node.depth, _DEEPEST_DRAWN)
        del path[depth:]
        label = _label(node.session, marked)
        if node.depth > _DEEPEST_DRAWN:
            label = Text(f"({node.depth} levels deep) ", "dim") + label
        path.append(path[-1].add(label))
    console = stdout_console()
    if not lineage.complete:
        missing = visible(str(lineage.path.unresolved_parent_id))
        console.print(Text(f"{missing} (not in the store)", "dim"))
    console.print(root)


def _label(session: LogicalSession, marked: str) -> Text:
    is_marked = session.session_id == marked
    label = Text(visible(session.session_id), "bold reverse" if is_marked else "bold")
    if is_marked:
        label.append(" ◀", "bold")
    if session.title:
        label.append(f"  {visible(session.title)}")
    origin = session.header.origin or ("fork" if session.header.seed_length else None)
    facts = [moment(session.header.created_at), f"{session.last_seq + 1} events"]
    if origin:
        facts.insert(0, visible(origin))
    return label.append(f"  ({', '.join(facts)})", "dim")


def family_as_json(family: Family) -> dict[str, Any]:
    """The family with the names that the API gives it; ``descendants`` are those of the root."""
    lineage = family.lineage
    return {
        "id": lineage.target.session_id,
        "complete": lineage.complete,
        "root": _session_as_json(lineage.root),
        "unresolvedParentId": lineage.path.unresolved_parent_id,
        "ancestors": [each.session_id for each in lineage.ancestors],
        "descendants": [
            {
                **_session_as_json(node.session),
                "parentId": node.parent_id,
                "depth": node.depth,
            }
            for node in family.descendants
        ],
    }


def _session_as_json(session: LogicalSession) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "title": session.title,
        "createdAt": session.header.created_at,
        "origin": session.header.origin,
        "lastSeq": session.last_seq,
    }
