"""How a page is asked for and what it says of its ends."""

from __future__ import annotations

import pytest

from sessiongraph.errors import InvalidLimit
from sessiongraph.paging import Page, PageRequest


@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        (PageRequest(), 50),
        (PageRequest(after="c"), 50),
        (PageRequest(first=1), 1),
        (PageRequest(first=200), 200),
        (PageRequest(last=7), 7),
    ],
)
def test_a_page_is_as_long_as_asked_or_as_usual(request_: PageRequest, limit: int) -> None:
    assert request_.limit(default=50, maximum=200) == limit


@pytest.mark.parametrize("asked", [0, -1, 201])
def test_a_page_outside_1_to_the_most_is_an_invalid_limit(asked: int) -> None:
    for request_ in (PageRequest(first=asked), PageRequest(last=asked)):
        with pytest.raises(InvalidLimit):
            request_.limit(default=50, maximum=200)


def test_both_ends_at_once_are_an_invalid_limit() -> None:
    with pytest.raises(InvalidLimit):
        PageRequest(first=1, last=1).limit(default=50, maximum=200)


def test_only_last_asks_from_the_end() -> None:
    assert PageRequest(last=1, before="c").from_end
    assert not PageRequest(first=1, after="c").from_end
    assert not PageRequest().from_end


def test_a_page_gives_the_cursors_of_its_ends() -> None:
    page = Page(["a", "b"], str.upper, has_next_page=True, has_previous_page=False)
    assert (page.start_cursor, page.end_cursor, page.cursor("x")) == ("A", "B", "X")


def test_an_empty_page_has_no_cursors() -> None:
    page = Page[str]([], str.upper, has_next_page=False, has_previous_page=True)
    assert (page.start_cursor, page.end_cursor) == (None, None)
