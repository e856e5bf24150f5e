"""Tells one session of Codex.

Each item of the model's history is a message of its own; a step is one call of the model with what
its tools answered. A message that stands in the file twice is told once, the person's with the
text of the screen and the model's with that of the history; its counterpart is kept as an opaque
event, and where it was told with the other text first, it takes that message's place.

What a fork or a subagent inherited was copied into its file in one go when it was made: these are
the records whose time is that of the first line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from providers.recordings.codex_blocks import Blocks
from providers.recordings.codex_pairs import Pairs, Said
from providers.recordings.codex_records import (
    FAMILY,
    Record,
    called_in,
    error_in,
    is_injected,
    message_text,
    output_of,
    plan_of,
    reasoning_in,
    record_of,
)
from providers.recordings.codex_state import CodexMemory, State, Task
from providers.recordings.codex_usage import (
    as_usage,
    context_window,
    totals_in,
    used_since,
)
from providers.recordings.conversation import ABORTED, CHECKPOINT, PERSON, Conversation
from providers.recordings.records import (
    TOO_LONG,
    UNREADABLE,
    epoch_millis,
    tell_opaque,
    tell_too_long,
    tell_unreadable,
)
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import SessionHeader
from sessiongraph.recordings import RecordedMedia, RecordingRewritten

INJECTED: Final = {"kind": FAMILY}
COPIED_WITHIN_MS: Final = 1000
"""How long after the first line the copying of inherited records may take."""

_INJECTED_KINDS: Final = ("environment_context", "user_instructions")


class CodexSession:
    """The teller of one session. inherits: whether its file begins with another's records."""

    def __init__(self, header: SessionHeader, *, inherits: bool, memory: bytes | None) -> None:
        self._header = header
        self._conversation = Conversation(header.created_at)
        self._blocks = Blocks()
        self._state = State(seeding=inherits)
        self._resumed = memory is not None
        self._began_at: int | None = None
        if memory is not None:
            self._remember(memory)
        self._pairs = Pairs(self._state.waiting)
        self._handlers: dict[str, Callable[[Mapping[str, Any]], bool]] = {
            "turn_context": self._turn_context,
            "compacted": self._compacted,
            "response_item.message": self._message,
            "response_item.reasoning": self._reasoning,
            "response_item.function_call": self._call,
            "response_item.custom_tool_call": self._call,
            "response_item.local_shell_call": self._call,
            "response_item.function_call_output": self._output,
            "response_item.custom_tool_call_output": self._output,
            "event_msg.user_message": self._user_message,
            "event_msg.agent_message": self._agent_message,
            "event_msg.token_count": self._token_count,
            "event_msg.task_started": self._task_started,
            "event_msg.task_complete": self._task_complete,
            "event_msg.turn_aborted": self._turn_aborted,
            "event_msg.error": self._error,
            "event_msg.context_compacted": self._context_compacted,
            "event_msg.thread_name_updated": self._named,
        }

    def _remember(self, text: bytes) -> None:
        try:
            memory = msgspec.json.decode(text, type=CodexMemory)
        except msgspec.DecodeError as error:
            raise RecordingRewritten("it was read by another version of this reader") from error
        self._conversation.remember(memory.conversation)
        self._state = memory.state

    def memory(self) -> bytes:
        self._state.waiting = self._pairs.waiting
        return msgspec.json.encode(CodexMemory(self._conversation.memory(), self._state))

    @property
    def header(self) -> SessionHeader:
        return self._header

    @property
    def next_seq(self) -> Seq:
        return self._conversation.next_seq

    def notes(self) -> list[str]:
        return list(self._state.notes)

    def media(self) -> tuple[RecordedMedia, ...]:
        return self._blocks.images.take()

    def tell(self, line: bytes | None) -> list[SessionEvent]:
        conversation, state = self._conversation, self._state
        state.record += 1
        record = None if line is None else record_of(line)
        conversation.begin_record(None if record is None else epoch_millis(record.timestamp))
        if line is None:
            self._note(TOO_LONG)
            tell_too_long(conversation, FAMILY)
        elif record is None:
            self._note(UNREADABLE)
            tell_unreadable(conversation, FAMILY, line)
        else:
            if state.seeding:
                self._look_for_end_of_seed(record)
            kind, payload = record.kind, record.payload
            handler = self._handlers.get(kind)
            told = handler is not None and isinstance(payload, dict) and handler(payload)
            if not told:
                tell_opaque(conversation, FAMILY, kind, line)
        return conversation.told()

    def _note(self, note: str) -> None:
        if note not in self._state.notes:
            self._state.notes.append(note)

    def _look_for_end_of_seed(self, record: Record) -> None:
        time = epoch_millis(record.timestamp)
        if time is None:
            return
        if self._began_at is None and not self._resumed:
            self._began_at = time
        if self._began_at is not None and time <= self._began_at + COPIED_WITHIN_MS:
            return
        if self._resumed:
            raise RecordingRewritten("what the session inherited may have an end now")
        self._state.seeding = False
        seq = self._conversation.log("session/end-seed", {"inherited": True})
        self._header = replace(self._header, seed_length=seq)

    # The model's history

    def _message(self, payload: Mapping[str, Any]) -> bool:
        role = payload.get("role")
        if role == "user":
            return self._asked(payload)
        if role == "assistant":
            return self._replied(payload)
        if role in ("developer", "system"):
            blocks = self._blocks.told(payload.get("content"))
            message = self._spoken(payload, "developer", blocks, INJECTED)
            self._conversation.message("developer/message", {"message": message})
            return True
        return False

    def _asked(self, payload: Mapping[str, Any]) -> bool:
        text = message_text(payload)
        blocks = self._blocks.told(payload.get("content"))
        if is_injected(text):
            self._conversation.message("user/message", self._user(payload, INJECTED, blocks))
            return True
        record = self._state.record
        if self._pairs.take("user", on_screen=False, text=text, record=record) is not None:
            return False
        self._prompted(payload, text, blocks, on_screen=False)
        return True

    def _replied(self, payload: Mapping[str, Any]) -> bool:
        text, record = message_text(payload), self._state.record
        blocks = self._blocks.told(payload.get("content"))
        other = self._pairs.take("assistant", on_screen=False, text=text, record=record)
        if other is None:
            seq = self._tell_reply(payload, blocks)
            self._pairs.add(Said.of("assistant", text, seq, record, on_screen=False))
            return True
        if other.says(text) or not self._conversation.is_on_surface(other.seq):
            return False
        self._tell_reply(payload, blocks, replacing=other.seq)
        return True

    def _reasoning(self, payload: Mapping[str, Any]) -> bool:
        text = reasoning_in(payload)
        if not text:
            return False
        block = {"type": "reasoning", "text": text}
        if payload.get("encrypted_content") is not None:
            block["encrypted_content"] = payload["encrypted_content"]
        self._tell_reply(payload, [block])
        return True

    def _call(self, payload: Mapping[str, Any]) -> bool:
        call_id = payload.get("call_id") or payload.get("id")
        if not isinstance(call_id, str):
            return False
        name, arguments = called_in(payload)
        block = {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
        self._tell_reply(payload, [block])
        self._conversation.call(call_id, name, arguments)
        todos = plan_of(arguments) if name == "update_plan" else None
        if todos is not None:
            self._conversation.log("todo/write", {"todos": todos})
        return True

    def _output(self, payload: Mapping[str, Any]) -> bool:
        call_id = payload.get("call_id")
        if not isinstance(call_id, str):
            return False
        content, failed, metadata = output_of(payload.get("output"))
        extra = None if metadata is None else {"meta": metadata}
        blocks = self._blocks.told(content)
        self._conversation.result(call_id, blocks, is_error=failed, extra=extra)
        self._state.results = True
        return True

    def _tell_reply(
        self, payload: Mapping[str, Any], blocks: list[Any], *, replacing: Seq | None = None
    ) -> Seq:
        conversation, state = self._conversation, self._state
        if replacing is None and (state.results or not conversation.step_is_open):
            self._begin_step()
        source = {"provider": state.provider or "openai"}
        if state.model is not None:
            source["model"] = state.model
        message = self._spoken(payload, "assistant", blocks, source)
        data = {"turn": conversation.turn, "step": conversation.step, "message": message}
        return conversation.message("assistant/message", data, replacing=replacing)

    def _begin_step(self) -> None:
        self._conversation.begin_step()
        self._state.results = self._state.reported = False

    # The screen

    def _user_message(self, payload: Mapping[str, Any]) -> bool:
        text = payload.get("message")
        if not isinstance(text, str) or payload.get("kind") in _INJECTED_KINDS or is_injected(text):
            return False
        record = self._state.record
        blocks: list[Any] = [{"type": "text", "text": text}] if text else []
        other = self._pairs.take("user", on_screen=True, text=text, record=record)
        if other is None:
            blocks += self._blocks.of_urls(payload.get("images"))
            self._prompted(payload, text, blocks, on_screen=True)
            return True
        if other.says(text) or not text or not self._conversation.is_on_surface(other.seq):
            return False
        data = self._user(payload, PERSON, [*blocks, *other.others])
        self._conversation.message("user/message", data, replacing=other.seq)
        return True

    def _agent_message(self, payload: Mapping[str, Any]) -> bool:
        text, record = payload.get("message"), self._state.record
        if not isinstance(text, str) or not text:
            return False
        if self._pairs.take("assistant", on_screen=True, text=text, record=record) is not None:
            return False
        seq = self._tell_reply(payload, [{"type": "text", "text": text}])
        self._pairs.add(Said.of("assistant", text, seq, record, on_screen=True))
        return True

    def _prompted(
        self, payload: Mapping[str, Any], text: str, blocks: list[Any], *, on_screen: bool
    ) -> None:
        conversation, state = self._conversation, self._state
        if state.task != Task.RUNS or not conversation.turn_is_open:
            conversation.begin_turn()
            state.results = False
            if state.task == Task.WAITS:
                state.task = Task.RUNS
        seq = conversation.message("user/message", self._user(payload, PERSON, blocks))
        others = [block for block in blocks if block.get("type") != "text"]
        said = Said.of("user", text, seq, state.record, on_screen=on_screen, others=others)
        self._pairs.add(said)

    def _user(
        self, payload: Mapping[str, Any], source: Mapping[str, Any], blocks: list[Any]
    ) -> dict[str, Any]:
        return {"id": self._id(payload), "role": "user", "source": source, "content": blocks}

    def _spoken(
        self, payload: Mapping[str, Any], role: str, blocks: list[Any], source: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {"id": self._id(payload), "role": role, "content": blocks, "source": source}

    def _id(self, payload: Mapping[str, Any]) -> str:
        given = payload.get("id")
        return given if isinstance(given, str) and given else f"record-{self._state.record}"

    # What happens to the session

    def _turn_context(self, payload: Mapping[str, Any]) -> bool:
        state = self._state
        model = payload.get("model")
        state.model = model if isinstance(model, str) else state.model
        data: dict[str, Any] = {"provider": state.provider or "openai", "model": state.model}
        if state.window is not None:
            data["contextWindow"] = state.window
        self._conversation.log("request/context", {**data, "codex": payload})
        return True

    def _token_count(self, payload: Mapping[str, Any]) -> bool:
        conversation, state, info = self._conversation, self._state, payload.get("info")
        state.window = context_window(info) or state.window
        totals = totals_in(info)
        if totals is None:
            return False
        used = used_since(state.totals, totals, info)
        state.totals = totals
        if used is None:
            return False
        if conversation.turn_is_open or conversation.turn == 0:
            if state.reported or not conversation.step_is_open:
                self._begin_step()
            state.reported = True
        else:
            conversation.step += 1  # reported after the turn: a call that has no step of its own
        chunk = {"type": "usage", "usage": as_usage(used)}
        where = {"turn": conversation.turn, "step": conversation.step}
        conversation.log("assistant/chunk", {**where, "chunk": chunk})
        return True

    def _task_started(self, payload: Mapping[str, Any]) -> bool:
        conversation, state = self._conversation, self._state
        state.window = context_window(payload) or state.window
        just_asked = conversation.turn_is_open and conversation.step == 0
        state.task = Task.RUNS if just_asked else Task.WAITS
        return False

    def _task_complete(self, payload: Mapping[str, Any]) -> bool:
        self._state.task = Task.NONE
        failure = payload.get("error")
        return self._ended(None if failure is None else error_in(failure))

    def _turn_aborted(self, payload: Mapping[str, Any]) -> bool:  # noqa: ARG002
        self._state.task = Task.NONE
        return self._ended(ABORTED)

    def _error(self, payload: Mapping[str, Any]) -> bool:
        return self._ended(error_in(payload))

    def _ended(self, reason: Mapping[str, Any] | None) -> bool:
        if not self._conversation.turn_is_open:
            return False
        self._conversation.end_turn(reason)
        return True

    def _compacted(self, payload: Mapping[str, Any]) -> bool:
        conversation, state = self._conversation, self._state
        text = payload.get("message")
        blocks = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
        data = {**self._user(payload, CHECKPOINT, blocks), "codex": payload}
        before = state.compacted if state.compacted_on_screen else None
        if before is not None and conversation.is_on_surface(before):
            conversation.message("user/message", data, replacing=before)
            state.compacted = None
        else:
            state.compacted = conversation.compaction(data)
        state.compacted_on_screen = False
        return True

    def _context_compacted(self, payload: Mapping[str, Any]) -> bool:
        state = self._state
        if state.compacted is not None and not state.compacted_on_screen:
            state.compacted = None
            return False
        data = self._user(payload, CHECKPOINT, [])
        state.compacted = self._conversation.compaction(data)
        state.compacted_on_screen = True
        return True

    def _named(self, payload: Mapping[str, Any]) -> bool:
        title = payload.get("thread_name")
        if not isinstance(title, str) or not title:
            return False
        data = {"title": title, "messageSeqs": [], "source": {"kind": "user"}}
        self._conversation.log("session/title", data)
        return True

    def begin(self, provider: str | None) -> None:
        """What the first line says of the model; to be told before the others."""
        self._state.provider = self._state.provider or provider
