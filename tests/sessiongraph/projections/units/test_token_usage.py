"""Tokens are summed; a later report for the same step takes the place of the one before."""

from __future__ import annotations

from typing import Any

from sessiongraph.projections.units.token_usage import TOKEN_USAGE
from tests.sessiongraph.projections.units.folding import Event, value_after


def usage(fresh: int, out: int = 0, read: int = 0, write: int = 0) -> dict[str, int]:
    return {
        "inputTokens": fresh,
        "outputTokens": out,
        "cacheReadTokens": read,
        "cacheWriteTokens": write,
    }


def chunk(step: int, used: dict[str, int]) -> Event:
    data = {"turn": 1, "step": step, "chunk": {"type": "usage", "usage": used}}
    return "assistant/chunk", data


def streamed(used: dict[str, int]) -> list[dict[str, Any]]:
    return [{"type": "chunk", "time": 1, "chunk": {"type": "usage", "usage": used}}]


def message(step: int, used: dict[str, int] | None = None, stream: Any = None) -> Event:
    data: dict[str, Any] = {"turn": 1, "step": step, "message": {"content": []}}
    if used is not None:
        data["usage"] = used
    if stream is not None:
        data["stream"] = stream
    return "assistant/message", data


def attempt(step: int, stream: Any) -> Event:
    return "assistant/attempt", {"turn": 1, "step": step, "stream": stream}


def sums(fresh: int, out: int = 0, read: int = 0, write: int = 0) -> dict[str, int]:
    return {
        "uncachedInputTokens": fresh,
        "outputTokens": out,
        "cacheReadTokens": read,
        "cacheWriteTokens": write,
    }


def test_nothing_was_used_before_the_first_report() -> None:
    assert value_after(TOKEN_USAGE) == sums(0)


def test_reports_of_different_steps_are_summed() -> None:
    shown = value_after(TOKEN_USAGE, message(1, usage(5, 2, 3, 1)), message(2, usage(10, 4)))
    assert shown == sums(15, 6, 3, 1)


def test_the_message_takes_the_place_of_the_chunk_of_its_step() -> None:
    assert value_after(TOKEN_USAGE, chunk(1, usage(5, 2)), message(1, usage(7, 3))) == sums(7, 3)


def test_the_last_usage_of_a_stream_counts_when_the_message_has_none() -> None:
    stream = [*streamed(usage(1)), {"type": "text-chunks"}, *streamed(usage(9, 9)), "torn"]
    assert value_after(TOKEN_USAGE, message(1, None, stream)) == sums(9, 9)
    assert value_after(TOKEN_USAGE, message(1, usage(4), stream)) == sums(4)


def test_a_later_try_of_a_step_takes_the_place_of_an_earlier_one() -> None:
    shown = value_after(
        TOKEN_USAGE, attempt(1, streamed(usage(5))), message(1, usage(6)), attempt(2, [])
    )
    assert shown == sums(6)


def test_other_chunks_and_malformed_reports_are_none() -> None:
    shown = value_after(
        TOKEN_USAGE,
        ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "text-delta", "text": "a"}}),
        ("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "usage", "usage": 5}}),
        ("assistant/chunk", {"chunk": {"type": "usage", "usage": usage(5)}}),
        ("assistant/message", {"turn": 1, "step": "x", "usage": usage(5)}),
        attempt(1, {"type": "usage"}),
    )
    assert shown == sums(0)
