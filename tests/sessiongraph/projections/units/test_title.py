"""The title is the latest one that is a title."""

from __future__ import annotations

from sessiongraph.projections.units.title import TITLE
from tests.sessiongraph.projections.units.folding import logged, seqs_of_changes, value_after


def test_a_session_without_a_title_has_none() -> None:
    assert value_after(TITLE) is None


def test_the_latest_title_wins() -> None:
    assert (
        value_after(TITLE, ("session/title", {"title": "a"}), ("session/title", {"title": ""}))
        == ""
    )


def test_what_is_no_title_changes_nothing() -> None:
    good = ("session/title", {"title": "a"})
    assert value_after(TITLE, good, ("session/title", {"title": 5}), ("session/title", {})) == "a"


def test_a_title_with_lone_surrogates_is_shown_as_it_is() -> None:
    assert value_after(TITLE, ("session/title", {"title": "\ud800"})) == "\ud800"


def test_the_same_title_again_is_no_change() -> None:
    same = ("session/title", {"title": "a"})
    assert seqs_of_changes(TITLE, [*logged(same, same)]) == [0]
