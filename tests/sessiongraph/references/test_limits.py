"""The settings of references."""

from __future__ import annotations

from typing import Any

import pytest

from sessiongraph.errors import SessionGraphError
from sessiongraph.references import errors
from sessiongraph.references.limits import ReferenceLimits

NAMES = ["max_references", "max_reference_bytes", "candidate_limit"]
CLASSES = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, SessionGraphError)
]


def test_the_defaults_are_those_of_the_specification() -> None:
    assert ReferenceLimits() == ReferenceLimits(3, 65536, 50)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [0, -1, 1.5, True, None, "3", float("nan")])
def test_what_is_no_positive_integer_is_refused(name: str, value: Any) -> None:
    with pytest.raises(errors.InvalidReferenceConfig) as caught:
        ReferenceLimits(**{name: value})
    assert caught.value.code == "SESSION_REFERENCE_INVALID_CONFIG"
    assert name in caught.value.message


@pytest.mark.parametrize("name", NAMES)
def test_one_is_enough(name: str) -> None:
    assert getattr(ReferenceLimits(**{name: 1}), name) == 1


def test_every_code_of_the_specification_has_its_class() -> None:
    codes = {each.code for each in CLASSES if each is not SessionGraphError}
    assert codes == {
        f"SESSION_REFERENCE_{name}"
        for name in (
            "INVALID_REFERENCE",
            "SELF_REFERENCE",
            "TOO_MANY",
            "READ_FAILED",
            "CANCELLED",
            "BUDGET_EXCEEDED",
            "INVALID_CONFIG",
        )
    }
