"""Ancestors and descendants against naive recursion over random forests."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.errors import InvalidLineage
from sessiongraph.lineage import AncestorPath, Descendant, ancestor_path, descendants_in_order
from sessiongraph.ports import ChildLink

Parents = dict[str, str | None]

ids = st.sampled_from("abcdefgh")
anything: st.SearchStrategy[Parents] = st.dictionaries(ids, st.none() | ids, max_size=8)
"""Each session and its parent: forests, orphans and circles."""


def known_ancestors(parents: Parents, session_id: str) -> list[tuple[str, str | None]]:
    """What a store gives: nearest first, up to the first that repeats."""
    path: list[tuple[str, str | None]] = []
    seen = {session_id}
    parent = parents[session_id]
    while parent is not None and parent in parents and parent not in seen:
        seen.add(parent)
        path.append((parent, parents[parent]))
        parent = parents[parent]
    return path


def naive_ancestors(parents: Parents, session_id: str, below: tuple[str, ...] = ()) -> list[str]:
    """The chain of parents, the last of them perhaps unknown; raises RecursionError in circles."""
    if session_id in below:
        raise RecursionError
    parent = parents.get(session_id)
    if parent is None:
        return []
    return [parent, *naive_ancestors(parents, parent, (*below, session_id))]


def naive_descendants(
    links: list[ChildLink], root: str, seen: set[str], depth: int = 1
) -> list[Descendant]:
    children = [link for link in links if link.parent_id == root]
    ordered = []
    for link in sorted(children, key=lambda link: (link.created_at, link.session_id)):
        if link.session_id not in seen:
            seen.add(link.session_id)
            ordered.append(Descendant(link.session_id, root, depth))
            ordered += naive_descendants(links, link.session_id, seen, depth + 1)
    return ordered


@given(parents=anything)
def test_ancestry_equals_the_naive_walk(parents: Parents) -> None:
    for session_id, parent in parents.items():
        try:
            chain = naive_ancestors(parents, session_id)
        except RecursionError:
            continue
        missing = chain[-1] if chain and chain[-1] not in parents else None
        known = tuple(each for each in chain if each in parents)
        found = ancestor_path(session_id, parent, known_ancestors(parents, session_id))
        assert found == AncestorPath(known, missing)
        assert found.complete is (missing is None)


@given(parents=anything)
def test_an_ancestry_that_runs_in_a_circle_is_an_error(parents: Parents) -> None:
    for session_id, parent in parents.items():
        try:
            naive_ancestors(parents, session_id)
        except RecursionError:
            with pytest.raises(InvalidLineage):
                ancestor_path(session_id, parent, known_ancestors(parents, session_id))


def test_a_store_may_name_the_repeated_ancestor_once_more() -> None:
    with pytest.raises(InvalidLineage):
        ancestor_path("a", "b", [("b", "c"), ("c", "b"), ("b", "c")])


@given(parents=anything, created=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_descendants_equal_the_naive_recursion(parents: Parents, created: list[int]) -> None:
    links = [
        ChildLink(child, parent, created[ord(child) - ord("a")])
        for child, parent in parents.items()
        if parent is not None
    ]
    for root in "abcdefghx":
        assert descendants_in_order(root, links) == naive_descendants(links, root, {root})


@given(parents=anything, seed=st.integers(0, 99))
def test_descendants_do_not_depend_on_the_order_of_the_links(parents: Parents, seed: int) -> None:
    links = [ChildLink(child, parent, 0) for child, parent in parents.items() if parent]
    shuffled = random.Random(seed).sample(links, len(links))
    assert descendants_in_order("a", shuffled) == descendants_in_order("a", links)


def test_a_chain_of_ten_thousand_is_walked_without_recursion() -> None:
    chain = [f"{number:05}" for number in range(10_000)]
    links = [ChildLink(child, parent, 0) for parent, child in pairwise(chain)]
    found = descendants_in_order(chain[0], links)
    assert [(node.session_id, node.depth) for node in found] == [
        (session_id, depth) for depth, session_id in enumerate(chain) if depth > 0
    ]
    upward = list(pairwise([*reversed(chain), None]))
    path = ancestor_path(chain[-1], chain[-2], [(a, b) for a, b in upward[1:] if a is not None])
    assert (path.ancestor_ids, path.complete) == (tuple(reversed(chain[:-1])), True)


def test_a_fan_of_ten_thousand_is_ordered_by_creation_and_id() -> None:
    links = [ChildLink(f"{n:05}", "root", 10_000 - n) for n in range(10_000)]
    found = [node.session_id for node in descendants_in_order("root", links)]
    assert found == sorted((link.session_id for link in links), reverse=True)
