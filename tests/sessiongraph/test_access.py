"""Grants: what they hold is checked and brought to one form when they are made."""

from __future__ import annotations

import pytest

from sessiongraph.access import EVERYTHING, Grant, Scope
from sessiongraph.directories import DEEPEST, LONGEST
from sessiongraph.errors import InvalidConfig
from tests.strategies import header


def test_grants_that_show_the_same_are_equal_however_they_are_spelled() -> None:
    one = Grant(Scope.READ, ("/home/ann/x/..", "C:\\Work\\", "/home/ann/sub"))
    other = Grant(Scope.READ, ("c:/Work", "//home/./ann"))
    assert one == other
    assert hash(one) == hash(other)
    assert one.cwd_prefixes == ("/home/ann", "c:/Work")
    assert Grant(Scope.READ, one.cwd_prefixes) == one


def test_roots_keep_the_form_that_says_so() -> None:
    assert Grant(Scope.READ, ("/",)).cwd_prefixes == ("/",)
    assert Grant(Scope.READ, ("C:\\",)).cwd_prefixes == ("c:/",)


@pytest.mark.parametrize("prefix", ["", " ", "home", "./a", "../a", "~", "~/a", "C:", "C:a"])
def test_a_prefix_that_is_not_absolute_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidConfig):
        Grant(Scope.READ, ("/fine", prefix))


@pytest.mark.parametrize("prefix", ["/a" * (DEEPEST + 1), "/" + "é" * LONGEST])
def test_a_prefix_that_is_too_deep_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidConfig):
        Grant(Scope.READ, (prefix,))


def test_without_prefixes_everything_is_seen_and_with_none_of_them_nothing() -> None:
    assert EVERYTHING.visibility.admits(header("a"))
    assert not EVERYTHING.visibility.is_confined
    nothing = Grant(Scope.ADMIN, ()).visibility
    assert nothing.is_confined
    assert not nothing.admits(header("a", cwd="/"))


@pytest.mark.parametrize(
    ("cwd", "seen"),
    [
        ("/home/ann", True),
        ("/home/ann/", True),
        ("/home/ann/deep/er", True),
        ("/home/bob/../ann", True),
        ("/home/anna", False),
        ("/home", False),
        ("/home/ann/..", False),
        ("home/ann", False),
        (None, False),
    ],
)
def test_a_session_is_seen_at_or_below_a_prefix(cwd: str | None, seen: bool) -> None:
    assert Grant(Scope.READ, ("/home/ann",)).visibility.admits(header("a", cwd=cwd)) is seen
