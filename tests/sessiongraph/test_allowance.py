"""What operations take of events, against a plain sum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.allowance import UNCOUNTED, Allowance, EventBytes
from sessiongraph.errors import CostLimitExceeded, TooManyRequests

EACH, TOGETHER = 1 << 20, 2 << 20
STEP = 256 * 1024


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 400_000) | st.just(-1)), min_size=1, max_size=60
    )
)
def test_nobody_takes_more_than_its_part_and_all_of_it_is_given_back(
    steps: list[tuple[int, int]],
) -> None:
    everybody = EventBytes(EACH, TOGETHER)
    running: dict[int, Allowance] = {}
    taken: dict[int, int] = {}
    for number, count in steps:
        if count < 0:
            if number in running:
                running.pop(number).close()
                taken.pop(number)
            continue
        allowance = running.setdefault(number, everybody.allowance())
        taken[number] = taken.get(number, 0) + count
        try:
            allowance.take(count)
        except CostLimitExceeded:
            assert taken[number] > EACH
        except TooManyRequests:
            assert sum(taken.values()) + len(taken) * STEP > TOGETHER
        else:
            assert taken[number] <= EACH
        assert 0 <= everybody.held <= TOGETHER
    for allowance in running.values():
        allowance.close()
    assert everybody.held == 0


def test_small_operations_are_not_counted_among_the_others() -> None:
    everybody = EventBytes(EACH, 0)
    everybody.allowance().take(UNCOUNTED)
    assert everybody.held == 0
    with pytest.raises(TooManyRequests, match="max_running_bytes"):
        everybody.allowance().take(UNCOUNTED + 1)


def test_what_is_not_kept_can_be_taken_again() -> None:
    allowance = EventBytes(EACH, TOGETHER).allowance()
    for _ in range(5):
        allowance.take(EACH)
        allowance.let_go(EACH)
    with pytest.raises(CostLimitExceeded, match="max_answer_bytes"):
        allowance.take(EACH + 1)
