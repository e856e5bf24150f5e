"""Lineage: whom a session descends from, and who descends from it.

Ancestry is a path: it ends at a root, at the first parent that is not in the corpus, or, in a
damaged corpus, runs in a circle, which is an error. Descent is a forest: it is walked in pre-order,
children by creation time and then id, each session at most once, so that a circle ends the walk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sessiongraph.errors import InvalidLineage
from sessiongraph.header import SessionHeader
from sessiongraph.ports import ChildLink


class HasHeader(Protocol):
    """A session, stored or observed."""

    @property
    def header(self) -> SessionHeader: ...


S = TypeVar("S", bound=HasHeader)


@dataclass(frozen=True, slots=True)
class AncestorPath:
    """The known ancestors of a session, nearest first, and the parent at which they end.

    unresolved_parent_id: the first parent that is not there; None when the last one is a root.
    """

    ancestor_ids: tuple[str, ...]
    unresolved_parent_id: str | None

    @property
    def complete(self) -> bool:
        return self.unresolved_parent_id is None


def known_ancestors(session_id: str, known: Mapping[str, S]) -> list[S]:
    """The ancestors of a session among those that are known, nearest first.

    They end before the first that is not there, or that repeats.
    """
    seen = {session_id}
    ancestors: list[S] = []
    session = known.get(session_id)
    while session is not None:
        parent_id = session.header.parent_session
        session = None if parent_id is None or parent_id in seen else known.get(parent_id)
        if session is not None:
            seen.add(session.header.session_id)
            ancestors.append(session)
    return ancestors


def ancestor_path(
    session_id: str, parent_id: str | None, ancestors: Sequence[tuple[str, str | None]]
) -> AncestorPath:
    """The path above a session, from its known ancestors as (id, parent id), nearest first.

    Raises:
        InvalidLineage: the path runs in a circle.
    """
    seen = {session_id}
    path: list[str] = []
    expected = parent_id
    for ancestor_id, grandparent_id in ancestors:
        if ancestor_id in seen:
            break
        seen.add(ancestor_id)
        path.append(ancestor_id)
        expected = grandparent_id
    if expected is not None and expected in seen:
        raise InvalidLineage(f"the ancestry of {session_id!r} runs in a circle at {expected!r}")
    return AncestorPath(tuple(path), expected)


@dataclass(frozen=True, slots=True)
class Descendant:
    """One node of the forest; depth is 1 for direct children."""

    session_id: str
    parent_id: str
    depth: int


def descendants_in_order(root_id: str, links: Sequence[ChildLink]) -> list[Descendant]:
    """The forest below a session in pre-order; O(n log n), no recursion."""
    children: defaultdict[str, list[ChildLink]] = defaultdict(list)
    for link in links:
        children[link.parent_id].append(link)
    for siblings in children.values():
        siblings.sort(key=lambda link: (link.created_at, link.session_id), reverse=True)
    seen = {root_id}
    ordered: list[Descendant] = []
    pending = [(link, 1) for link in children[root_id]]
    while pending:
        link, depth = pending.pop()
        if link.session_id in seen:
            continue
        seen.add(link.session_id)
        ordered.append(Descendant(link.session_id, link.parent_id, depth))
        pending.extend((child, depth + 1) for child in children.get(link.session_id, ()))
    return ordered
