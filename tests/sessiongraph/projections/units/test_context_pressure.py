"""The latest request tells how much context was taken, the latest context how much there is."""

from __future__ import annotations

from sessiongraph.projections.units.context_pressure import CONTEXT_PRESSURE
from tests.sessiongraph.projections.units.folding import value_after
from tests.sessiongraph.projections.units.test_token_usage import (
    attempt,
    chunk,
    message,
    streamed,
    usage,
)


def test_what_is_not_known_is_absent() -> None:
    assert value_after(CONTEXT_PRESSURE) == {}


def test_input_and_cache_of_the_latest_request_press() -> None:
    shown = value_after(CONTEXT_PRESSURE, message(1, usage(5, 99, 3, 1)), chunk(2, usage(10, 99)))
    assert shown == {"pressureTokens": 10}
    assert value_after(CONTEXT_PRESSURE, message(1, usage(5, 99, 3, 1))) == {"pressureTokens": 9}


def test_tries_without_a_message_press_too() -> None:
    shown = value_after(CONTEXT_PRESSURE, attempt(1, streamed(usage(7))))
    assert shown == {"pressureTokens": 7}


def test_the_window_is_the_latest_and_gone_when_the_latest_does_not_say() -> None:
    known = ("request/context", {"provider": "p", "model": "m", "contextWindow": 1000})
    assert value_after(CONTEXT_PRESSURE, known) == {"contextWindow": 1000}
    unknown = ("request/context", {"provider": "p", "model": "m"})
    assert value_after(CONTEXT_PRESSURE, known, unknown) == {}
    assert value_after(CONTEXT_PRESSURE, known, ("request/context", {"contextWindow": 0})) == {}
