"""First tokens and usage, in whatever way a generation keeps the model's output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import DeltaKind, DeltaRun
from sessiongraph.projections.units.model_output import first_token_in, first_token_of_run
from tests.strategies import delta_run, event


def of_stream(*records: Any) -> int | None:
    return first_token_in(event(0, "assistant/attempt", {"stream": list(records)}))


@pytest.mark.parametrize(
    ("chunk", "is_token"),
    [
        ({"type": "text-delta", "text": "a"}, True),
        ({"type": "text-delta", "text": ""}, False),
        ({"type": "reasoning-delta", "text": " "}, True),
        ({"type": "tool-call-delta", "argumentsDelta": "{"}, True),
        ({"type": "tool-call-delta", "argumentsDelta": ""}, False),
        ({"type": "tool-call-delta", "argumentsDelta": "", "name": "bash"}, True),
        ({"type": "block-start", "blockType": "text"}, False),
        ({"type": "usage", "usage": {}}, False),
        (None, False),
        ("text-delta", False),
    ],
    ids=str,
)
def test_a_first_token_is_a_delta_that_says_something(chunk: Any, is_token: bool) -> None:
    logged = event(0, "assistant/chunk", {"chunk": chunk}, time=70)
    assert first_token_in(logged) == (70 if is_token else None)
    assert of_stream({"type": "chunk", "time": 80, "chunk": chunk}) == (80 if is_token else None)


@pytest.mark.parametrize(
    ("record", "time"),
    [
        ({"type": "text-chunks", "time0": 5, "dt": [3, -1], "texts": ["", "", "a"]}, 7),
        ({"type": "text-chunks", "time0": 5, "dt": [3], "texts": ["", ""]}, None),
        ({"type": "reasoning-chunks", "time0": 5, "dt": [], "texts": ["a"]}, 5),
        ({"type": "tool-call-chunks", "time0": 5, "dt": [1], "args": ["", "{"]}, 6),
        ({"type": "tool-call-chunks", "time0": 5, "dt": [], "args": [""], "name": "bash"}, 5),
        ({"type": "text-chunks", "time0": "5", "dt": [], "texts": ["a"]}, None),
        ({"type": "text-chunks", "time0": 5, "dt": ["x"], "texts": ["", "a"]}, None),
        ({"type": "text-chunks", "time0": 5, "texts": ["a"]}, 5),
        ({"type": "hologram"}, None),
        ("torn", None),
    ],
    ids=str,
)
def test_a_record_of_a_stream_tells_when_its_first_token_came(record: Any, time: Any) -> None:
    assert of_stream({"type": "chunk"}, record) == time


def test_a_stream_that_is_none_tells_nothing() -> None:
    assert first_token_in(event(0, "assistant/attempt", {"stream": "x"})) is None
    assert first_token_in(event(0, "assistant/message", {})) is None


@given(
    texts=st.lists(st.sampled_from(["", "a"]), min_size=1, max_size=5),
    kind=st.sampled_from(DeltaKind),
    name=st.none() | st.just("bash"),
)
def test_a_run_tells_the_same_as_its_members(
    texts: list[str], kind: DeltaKind, name: str | None
) -> None:
    run: DeltaRun = delta_run(0, texts, kind=kind, name=name, call_id="c", gaps=[2] * len(texts))
    run.gaps = run.gaps[: len(texts) - 1]
    times = [first_token_in(member) for member in run.members()]
    assert first_token_of_run(run) == next((time for time in times if time is not None), None)
