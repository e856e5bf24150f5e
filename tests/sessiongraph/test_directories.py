"""Places: where directories lie, against the standard library's way of reading paths."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessiongraph.directories import (
    DEEPEST,
    LONGEST,
    highest,
    lies_within,
    octets_of,
    place_of,
    places_above,
)
from tests.plain_directories import plain_path, plain_within
from tests.strategies import any_text

names = st.sampled_from(["a", "b", "A", "..", ".", "", "a b", "\ud800", "c:", "...", "a\0"])
separators = st.sampled_from(["/", "\\", "//", "\\/"])
roots = st.sampled_from(
    ["/", "//", "C:/", "c:\\", "d:/", "\\\\srv\\share\\", "", "C:", "~/", "é:/"]
)


@st.composite
def directories(draw: st.DrawFn) -> str:
    """Directories as any system spells them, also relative ones."""
    spelled = draw(roots)
    for name in draw(st.lists(names, max_size=6)):
        spelled += name + draw(separators)
    return spelled.rstrip("/\\") if draw(st.booleans()) and len(spelled) > 3 else spelled


@given(directories())
@example("/home/ann/../anna")
def test_a_place_is_where_the_standard_library_says(directory: str) -> None:
    place, path = place_of(directory), plain_path(directory)
    assert (place is None) == (path is None)
    if place is not None and path is not None:
        assert place.endswith("/")
        assert plain_path(place) == path
        assert place_of(place) == place


@pytest.mark.parametrize("directory", ["\\\\", "\\\\\\", "\\\\..\\.", "\\\\./"])
def test_all_shares_together_are_no_place(directory: str) -> None:
    """Nothing could be asked to lie below it: it has no name, and places end where names end."""
    assert place_of(directory) is None


@given(directories(), st.lists(directories(), max_size=3))
@example("/home/anna", ["/home/ann"])
@example("C:\\Users\\ann\\x", ["c:/Users/ann"])
def test_within_means_equal_or_below_at_a_border_of_names(
    directory: str, prefixes: list[str]
) -> None:
    places = highest(place for each in prefixes if (place := place_of(each)) is not None)
    assert lies_within(directory, places) == plain_within(directory, prefixes)


@given(any_text | st.none(), st.lists(any_text, max_size=3))
def test_any_text_is_a_directory_or_none_and_never_a_failure(
    directory: str | None, prefixes: list[str]
) -> None:
    places = highest(place for each in prefixes if (place := place_of(each)) is not None)
    if lies_within(directory, places):
        assert directory is not None
        assert place_of(directory) is not None


@given(directories(), directories())
def test_the_places_above_are_all_that_a_directory_lies_within(one: str, other: str) -> None:
    place, above = place_of(one), place_of(other)
    if place is not None and above is not None:
        assert (above in set(places_above(place))) == lies_within(one, [above])


def test_the_places_above_are_bounded_however_deep_a_directory_is() -> None:
    deep, long = "/" + "a/" * 10_000, "/" + "a" * 200 + "/" + "b" * LONGEST
    assert len(list(places_above(deep))) == DEEPEST + 1
    assert all(octets_of(each) <= LONGEST for each in places_above(long))


@pytest.mark.parametrize(
    "directory", ["", ".", "a", "../a", "~", "~/a", "C:", "C:a", "\\a", "1:/a"]
)
def test_what_is_not_absolute_is_nowhere(directory: str) -> None:
    assert place_of(directory) is None
    assert not lies_within(directory, ["/"])
    assert not lies_within(None, ["/"])
