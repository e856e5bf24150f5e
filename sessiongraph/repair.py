"""Closing the tail of a log whose recorder crashed: the events that its last turn lacks.

A crash leaves a turn open, perhaps a step, perhaps tool calls that nobody answered. Before such a
log is written to again it is closed by synthetic events, deterministic from the log: one error
``tool/result`` for each call without a result, then ``step/end``, then ``turn/end`` with reason
``interrupted`` (log.md, "Repair"). They reuse the last event's time. Other brackets, such as an
open compaction, are left alone.

:class:`TailState` is folded over the whole log once and then kept up to date; it holds the open
turn, step and calls and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from sessiongraph import lossless
from sessiongraph.event import APPEND, DeltaRun, Entry, Seq, SessionEvent
from sessiongraph.header import EpochMillis
from sessiongraph.payloads import Shape, call_id_of, content_of, is_count, shape_of

NOT_STARTED: Final = "TOOL_NOT_STARTED"
OUTCOME_UNKNOWN: Final = "TOOL_OUTCOME_UNKNOWN"

_WORDS: Final = {
    NOT_STARTED: "The session was interrupted before this tool started.",
    OUTCOME_UNKNOWN: "The session was interrupted while this tool ran; its outcome is unknown.",
}


@dataclass(slots=True)
class TailState:
    """What is open at the end of a log.

    calls: for each call without a result the seq of its ``tool/call``, None when none was logged.
    """

    turn: int | None = None
    step: int | None = None
    calls: dict[str, Seq | None] = field(default_factory=dict)
    last_time: EpochMillis = 0

    @property
    def is_open(self) -> bool:
        return self.turn is not None

    def advance(self, entry: Entry) -> None:
        """Take one more entry into account."""
        if isinstance(entry, DeltaRun):
            *_, self.last_time = entry.times()
            return
        self.last_time = entry.time
        change = _CHANGES.get(entry.type)
        if change is not None:
            change(self, entry)

    def _start_turn(self, event: SessionEvent) -> None:
        turn = event.data.get("turn")
        if is_count(turn):
            self.turn, self.step = turn, None
            self.calls.clear()

    def _end_turn(self, _event: SessionEvent) -> None:
        self.turn = self.step = None
        self.calls.clear()

    def _start_step(self, event: SessionEvent) -> None:
        step = event.data.get("step")
        if is_count(step):
            self.step = step

    def _end_step(self, _event: SessionEvent) -> None:
        self.step = None

    def _ask_for_calls(self, event: SessionEvent) -> None:
        for block in content_of(event.type, event.data):
            if not isinstance(block, dict) or block.get("type") != "tool-call":
                continue
            if isinstance(block.get("id"), str):
                self.calls.setdefault(block["id"], None)

    def _start_call(self, event: SessionEvent) -> None:
        if shape_of(event.type, event.data) is Shape.TOOL_CALL:
            self.calls[event.data["callId"]] = event.seq

    def _answer_call(self, event: SessionEvent) -> None:
        call_id = call_id_of(event.data)
        if call_id is not None:
            self.calls.pop(call_id, None)


_CHANGES: Final = {
    "turn/start": TailState._start_turn,
    "turn/end": TailState._end_turn,
    "step/start": TailState._start_step,
    "step/end": TailState._end_step,
    "assistant/message": TailState._ask_for_calls,
    "tool/call": TailState._start_call,
    "tool/result": TailState._answer_call,
}


def closing_events(
    state: TailState, session_id: str, version: int, next_seq: Seq
) -> list[SessionEvent]:
    """The events that close an open tail, in order; none when it is closed.

    version: the format generation that decides how a tool result is spelled.
    """
    if state.turn is None:
        return []
    step = 0 if state.step is None else state.step
    events: list[SessionEvent] = []

    def append(event_type: str, data: dict[str, Any], sources: tuple[Seq, ...] | None) -> None:
        events.append(
            SessionEvent(
                next_seq + len(events),
                event_type,
                state.last_time,
                lossless.encode(data),
                APPEND if event_type == "tool/result" else None,
                sources,
            )
        )

    for call_id, seq in state.calls.items():
        code = NOT_STARTED if seq is None else OUTCOME_UNKNOWN
        message = _result_message(session_id, version, call_id, next_seq + len(events), code)
        append(
            "tool/result",
            {
                "turn": state.turn,
                "step": step,
                "message": message,
                "error": {"name": "ToolError", "code": code},
            },
            None if seq is None else (seq,),
        )
    if state.step is not None:
        append("step/end", {"turn": state.turn, "step": state.step}, None)
    append("turn/end", {"turn": state.turn, "reason": {"kind": "interrupted"}}, None)
    return events


def _result_message(
    session_id: str, version: int, call_id: str, seq: Seq, code: str
) -> dict[str, Any]:
    content = [{"type": "text", "text": _WORDS[code]}]
    message: dict[str, Any] = {
        "role": "user",
        "id": f"interrupted-tool-result:{session_id}:{seq}",
        "source": {"kind": "tool", "callId": call_id},
    }
    if version >= 4:
        return message | {
            "role": "tool", "toolCallId": call_id, "content": content, "isError": True,
        }  # fmt: skip
    wrapper = {"type": "tool-result", "toolCallId": call_id, "isError": True, "content": content}
    return message | {"content": [wrapper]}
