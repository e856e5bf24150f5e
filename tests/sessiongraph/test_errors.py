"""The public codes."""

from __future__ import annotations

from sessiongraph.errors import SessionGraphError, error_classes


def test_every_code_belongs_to_one_class() -> None:
    codes = [error.code for error in error_classes()]
    assert codes == sorted(set(codes))


def test_every_class_says_what_it_means() -> None:
    assert [error for error in error_classes() if not error.__doc__] == []


def test_no_public_error_has_the_code_of_a_fault_of_ours() -> None:
    assert SessionGraphError.code not in {error.code for error in error_classes()}
