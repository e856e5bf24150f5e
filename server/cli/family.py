"""The family of a session: collected from the corpus, drawn as a tree or told as JSON.

Who descends from whom is the tree; whose conclusions went where stands with each session: the
sessions that it cites, and those that cite it, which need not be of the family.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text
from rich.tree import Tree

from server.cli.output import moment, stdout_console, visible
from server.cli.reading import session_of
from sessiongraph.citations import SessionCitation
from sessiongraph.corpus import LogicalSession
from sessiongraph.errors import SessionGraphError
from sessiongraph.families import Lineage, LineageNode
from sessiongraph.paging import Page, PageRequest
from sessiongraph.query import Observation

_DEEPEST_DRAWN: Final = 24
"""Levels that are indented; what lies deeper stands there with its depth written out."""


@dataclass(frozen=True, slots=True)
class Family:
    """A session with everybody that descends from its oldest known ancestor, in pre-order.

    cites, cited_by: the citations of each member that has any, by its id.
    """

    lineage: Lineage
    descendants: tuple[LineageNode, ...]
    cites: dict[str, list[SessionCitation]]
    cited_by: dict[str, list[SessionCitation]]


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
            break
        after = page.end_cursor
    members = [lineage.root, *(node.session for node in nodes)]
    cites = {
        each.session_id: await _all_pages(observation.list_citations, each) for each in members
    }
    cited = {each.session_id: await _all_pages(observation.list_citing, each) for each in members}
    return Family(lineage, tuple(nodes), cites, cited)


async def _all_pages(
    read: Callable[[LogicalSession, PageRequest], Awaitable[Page[SessionCitation]]],
    session: LogicalSession,
) -> list[SessionCitation]:
    page = await read(session, PageRequest())
    found = list(page.items)
    while page.has_next_page:
        page = await read(session, PageRequest(after=page.end_cursor))
        found += page.items
    return found


def print_family(family: Family) -> None:
    """The tree, to stdout."""
    lineage = family.lineage
    root = Tree(_label(family, lineage.root))
    path = [root]
    for node in family.descendants:
        depth = min(node.depth, _DEEPEST_DRAWN)
        del path[depth:]
        label = _label(family, node.session)
        if node.depth > _DEEPEST_DRAWN:
            label = Text(f"({node.depth} levels deep) ", "dim") + label
        path.append(path[-1].add(label))
    console = stdout_console()
    if not lineage.complete:
        missing = visible(str(lineage.path.unresolved_parent_id))
        console.print(Text(f"{missing} (not in the store)", "dim"))
    console.print(root)


def _label(family: Family, session: LogicalSession) -> Text:
    is_marked = session.session_id == family.lineage.target.session_id
    label = Text(visible(session.session_id), "bold reverse" if is_marked else "bold")
    if is_marked:
        label.append(" ◀", "bold")
    if session.title:
        label.append(f"  {visible(session.title)}")
    origin = session.header.origin or ("fork" if session.header.seed_length else None)
    facts = [moment(session.header.created_at), f"{session.last_seq + 1} events"]
    if origin:
        facts.insert(0, visible(origin))
    label.append(f"  ({', '.join(facts)})", "dim")
    for citation in family.cites[session.session_id]:
        label.append(f"\n→ cites {visible(citation.target_id)} {_extent(citation)}", "cyan")
    for citation in family.cited_by[session.session_id]:
        label.append(f"\n← cited by {visible(citation.session_id)} {_extent(citation)}", "green")
    return label


def _extent(citation: SessionCitation) -> str:
    """How much of the target was seen, and where that stands."""
    through = citation.captured_through_seq
    seen = "when it was empty" if through is None else f"through event {through}"
    return f"{seen} (in event {citation.seq})"


def family_as_json(family: Family) -> dict[str, Any]:
    """The family with the names that the API gives it; ``descendants`` are those of the root."""
    lineage = family.lineage
    return {
        "id": lineage.target.session_id,
        "complete": lineage.complete,
        "root": _session_as_json(family, lineage.root),
        "unresolvedParentId": lineage.path.unresolved_parent_id,
        "ancestors": [each.session_id for each in lineage.ancestors],
        "descendants": [
            {
                **_session_as_json(family, node.session),
                "parentId": node.parent_id,
                "depth": node.depth,
            }
            for node in family.descendants
        ],
    }


def _session_as_json(family: Family, session: LogicalSession) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "title": session.title,
        "createdAt": session.header.created_at,
        "origin": session.header.origin,
        "lastSeq": session.last_seq,
        "references": [_citation_as_json(each) for each in family.cites[session.session_id]],
        "referencedBy": [_citation_as_json(each) for each in family.cited_by[session.session_id]],
    }


def _citation_as_json(citation: SessionCitation) -> dict[str, Any]:
    return {
        "sessionId": citation.session_id,
        "seq": citation.seq,
        "targetId": citation.target_id,
        "label": citation.label,
        "capturedThroughSeq": citation.captured_through_seq,
    }
