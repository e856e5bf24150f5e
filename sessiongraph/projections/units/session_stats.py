"""``sessionStats``: how many turns and steps there were, and where their time went.

A step is one model call and its tools. Model time runs from its start to its message, and is split
at the first token into the wait for it and the decoding; a step whose message never came is counted
and not timed. Tool time runs from each call to its own result.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

from sessiongraph.event import DeltaRun, SessionEvent
from sessiongraph.header import EpochMillis
from sessiongraph.payloads import call_id_of, is_count
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.units.model_output import (
    OUTPUT_TYPES,
    Step,
    first_token_in,
    first_token_of_run,
    step_of,
)


class SessionStats(TypedDict):
    """Counts, and sums in ms.

    turns: those with a closed step. steps: closed ones.
    ttftMs, ttftSteps: the time to the first token, and the steps that had one.
    decodeMs, decodeTokens: of the steps that had a first token and reported their output.
    """

    turns: int
    steps: int
    llmMs: int
    toolMs: int
    ttftMs: int
    ttftSteps: int
    decodeMs: int
    decodeTokens: int


class OpenStep(TypedDict):
    """A step whose message has not come; times in ms since the epoch."""

    turn: int
    step: int
    startedAt: int
    firstTokenAt: int | None


class StatsState(TypedDict):
    """The sums, and what is still running.

    lastTurn: the turn of the last closed step. calls: when each call without a result began, by id.
    """

    sums: SessionStats
    lastTurn: int | None
    open: OpenStep | None
    calls: dict[str, int]


def _apply(state: StatsState, event: SessionEvent) -> StatsState:
    return _TRANSITIONS[event.type](state, event)


def _start_step(state: StatsState, event: SessionEvent) -> StatsState:
    step = step_of(event.data)
    if step is None:
        return state
    opened: OpenStep = {
        "turn": step[0],
        "step": step[1],
        "startedAt": event.time,
        "firstTokenAt": None,
    }
    return {**state, "open": opened}


def _note_token(state: StatsState, event: SessionEvent) -> StatsState:
    opened = state["open"]
    if opened is None or opened["firstTokenAt"] is not None or not _is_of(opened, event.data):
        return state
    return _with_first_token(state, opened, first_token_in(event))


def _apply_run(state: StatsState, run: DeltaRun) -> StatsState:
    opened = state["open"]
    if opened is None or opened["firstTokenAt"] is not None:
        return state
    if (opened["turn"], opened["step"]) != (run.turn, run.step):
        return state
    return _with_first_token(state, opened, first_token_of_run(run))


def _with_first_token(state: StatsState, opened: OpenStep, time: EpochMillis | None) -> StatsState:
    return state if time is None else {**state, "open": {**opened, "firstTokenAt": time}}


def _take_message(state: StatsState, event: SessionEvent) -> StatsState:
    opened = state["open"]
    if opened is None or not _is_of(opened, event.data):
        return state
    sums = state["sums"].copy()
    sums["llmMs"] += max(0, event.time - opened["startedAt"])
    first_token_at = opened["firstTokenAt"]
    if first_token_at is None:
        first_token_at = first_token_in(event)
    if first_token_at is not None:
        sums["ttftMs"] += max(0, first_token_at - opened["startedAt"])
        sums["ttftSteps"] += 1
        tokens = _output_tokens(event.data)
        if tokens is not None:
            sums["decodeMs"] += max(0, event.time - first_token_at)
            sums["decodeTokens"] += tokens
    return {**state, "sums": sums, "open": None}


def _end_step(state: StatsState, event: SessionEvent) -> StatsState:
    step = step_of(event.data)
    if step is None:
        return state
    turn = step[0]
    sums = state["sums"].copy()
    sums["steps"] += 1
    if turn != state["lastTurn"]:
        sums["turns"] += 1
    return {**state, "sums": sums, "lastTurn": turn, "open": None}


def _start_call(state: StatsState, event: SessionEvent) -> StatsState:
    call_id = event.data.get("callId") if isinstance(event.data, dict) else None
    if not isinstance(call_id, str):
        return state
    return {**state, "calls": {**state["calls"], call_id: event.time}}


def _end_call(state: StatsState, event: SessionEvent) -> StatsState:
    call_id = call_id_of(event.data) if isinstance(event.data, dict) else None
    started_at = state["calls"].get(call_id) if call_id is not None else None
    if started_at is None:
        return state
    sums = state["sums"].copy()
    sums["toolMs"] += max(0, event.time - started_at)
    calls = {other: time for other, time in state["calls"].items() if other != call_id}
    return {**state, "sums": sums, "calls": calls}


def _end_turn(state: StatsState, _event: SessionEvent) -> StatsState:
    return {**state, "calls": {}} if state["calls"] else state


def _is_of(opened: OpenStep, data: Any) -> bool:
    step: Step | None = step_of(data)
    return step == (opened["turn"], opened["step"])


def _output_tokens(data: dict[str, Any]) -> int | None:
    usage = data.get("usage")
    tokens = usage.get("outputTokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) and is_count(tokens) and tokens >= 0 else None


_TRANSITIONS: Final = {
    "step/start": _start_step,
    "assistant/chunk": _note_token,
    "assistant/attempt": _note_token,
    "assistant/message": _take_message,
    "step/end": _end_step,
    "tool/call": _start_call,
    "tool/result": _end_call,
    "turn/end": _end_turn,
}

assert set(OUTPUT_TYPES) < set(_TRANSITIONS)


def _init() -> StatsState:
    sums: SessionStats = {
        "turns": 0,
        "steps": 0,
        "llmMs": 0,
        "toolMs": 0,
        "ttftMs": 0,
        "ttftSteps": 0,
        "decodeMs": 0,
        "decodeTokens": 0,
    }
    return {"sums": sums, "lastTurn": None, "open": None, "calls": {}}


SESSION_STATS: Final = Projection[StatsState](
    key="sessionStats",
    state_version=1,
    init=_init,
    apply=_apply,
    view=lambda state: state["sums"],
    state_schema=StatsState,
    view_schema=SessionStats,
    event_types=tuple(_TRANSITIONS),
    apply_run=_apply_run,
)
