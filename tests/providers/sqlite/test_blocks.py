"""Dyadic blocks: a cited range is cut into few, and an event finds every range that holds it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from providers.sqlite.appending import blocks_of, covering_blocks
from providers.sqlite.numbering import LEVEL_SHIFT

LAST = 1 << 31
ranges = st.tuples(st.integers(0, 300), st.integers(0, 300)).map(sorted)
far_ranges = st.tuples(st.integers(0, LAST - 1), st.integers(0, LAST - 1)).map(sorted)


def level_and_block(node: int) -> tuple[int, int]:
    return node >> LEVEL_SHIFT, node & (1 << LEVEL_SHIFT) - 1


def members(node: int) -> range:
    """The seqs of a block."""
    level, block = level_and_block(node)
    return range(block << level, (block + 1) << level)


@given(ranges)
def test_the_blocks_of_a_range_cover_it_exactly_and_do_not_overlap(ends: list[int]) -> None:
    first, last = ends
    covered = [seq for node in covering_blocks(first, last) for seq in members(node)]
    assert sorted(covered) == list(range(first, last + 1))


@given(far_ranges)
def test_a_range_of_any_length_has_at_most_two_blocks_of_each_size(ends: list[int]) -> None:
    first, last = ends
    nodes = list(covering_blocks(first, last))
    assert sum(len(members(node)) for node in nodes) == last - first + 1
    levels = [level_and_block(node)[0] for node in nodes]
    assert max(levels.count(level) for level in levels) <= 2
    assert min(members(node).start for node in nodes) == first
    assert max(members(node).stop for node in nodes) == last + 1


@given(far_ranges)
def test_no_shorter_list_of_blocks_covers_a_range(ends: list[int]) -> None:
    """Two blocks beside each other are never the halves of one."""
    first, last = ends
    found = sorted(map(level_and_block, covering_blocks(first, last)))
    for level, block in found:
        assert (level, block ^ 1) not in found


@given(st.integers(0, LAST - 1), st.integers(0, LAST - 1))
def test_an_event_lies_in_one_block_of_each_size(seq: int, more: int) -> None:
    last_seq = min(seq + more, LAST - 1)
    nodes = blocks_of(seq, last_seq)
    assert [level_and_block(node)[0] for node in nodes] == list(range(len(nodes)))
    assert all(seq in members(node) for node in nodes)


@given(ranges, st.integers(0, 320), st.integers(0, 60))
def test_an_event_finds_a_range_if_and_only_if_it_lies_in_it(
    ends: list[int], seq: int, beyond: int
) -> None:
    """The one who cites comes after all that is cited, and the log ends there or later."""
    first, last = ends
    last_seq = max(last + 1 + beyond, seq)
    meets = set(covering_blocks(first, last)) & set(blocks_of(seq, last_seq))
    assert len(meets) == (first <= seq <= last)


@given(far_ranges, st.integers(0, LAST - 1))
def test_far_ranges_are_found_as_near_ones_are(ends: list[int], seq: int) -> None:
    first, last = ends
    last_seq = max(last + 1, seq)
    meets = set(covering_blocks(first, last)) & set(blocks_of(seq, last_seq))
    assert len(meets) == (first <= seq <= last)


def test_the_numbers_of_blocks_do_not_collide() -> None:
    nodes = {node for seq in range(64) for node in blocks_of(seq, LAST - 1)}
    assert len(nodes) == len({(level, seq >> level) for level in range(32) for seq in range(64)})
