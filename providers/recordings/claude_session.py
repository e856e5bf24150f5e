"""Tells one session of Claude Code.

Claude Code writes one record for each block of a message. The first gives an ``assistant/message``;
each further one of the same ``message.id`` gives the message anew, longer by that block, in the
place of the one before: so the surface holds one message, and its usage, of which the last report
stands, is counted once. Results of its first calls may have been recorded in between; the message
stays where it stood.

A compaction replaces the whole surface but for the messages that its boundary says were preserved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from providers.recordings.claude_blocks import Blocks, are_todos, arguments_of, call_id_of
from providers.recordings.claude_records import (
    FAMILY,
    Envelope,
    Envelopes,
    around,
    content_of,
    failure_in,
    is_failure,
    is_from_person,
    is_interruption,
    is_tool_result,
    members_of,
    preserved_in,
    queued_prompt_in,
    text_in,
    usage_of,
)
from providers.recordings.claude_titles import TitledBy, Titles
from providers.recordings.conversation import ABORTED, CHECKPOINT, PERSON, Conversation, Memory
from providers.recordings.records import (
    TOO_LONG,
    UNREADABLE,
    epoch_millis,
    parsed,
    tell_opaque,
    tell_too_long,
    tell_unreadable,
)
from sessiongraph import lossless
from sessiongraph.event import Seq, SessionEvent
from sessiongraph.header import SessionHeader
from sessiongraph.recordings import RecordedMedia, RecordingRewritten

INJECTED: Final = {"kind": FAMILY}

_RECORDS_REMEMBERED: Final = 128


class _Reply(msgspec.Struct):
    """The message of the model that may still go on: what was told of it so far."""

    id: str
    seq: Seq
    content: list[Any]


class _Memory(msgspec.Struct, omit_defaults=True):
    conversation: Memory
    reply: _Reply | None = None
    nodes: dict[str, int] = {}
    preserved: list[str] = []
    summaries: dict[str, str] = {}
    title: TitledBy = TitledBy.NOBODY
    seed: str | None = None
    seed_is_told: bool = False
    notes: list[str] = []


class ClaudeSession:
    """The teller of one session.

    title_of: the summary that another file gives to the session of a record, by its uuid.
    inherited_through: uuid of the last record that was copied from the parent; None: none was.
    """

    def __init__(
        self,
        header: SessionHeader,
        title_of: Callable[[str], str | None],
        inherited_through: str | None,
        envelopes: Envelopes,
        memory: bytes | None,
    ) -> None:
        self._header = header
        self._envelopes = envelopes
        self._conversation = Conversation(header.created_at)
        self._blocks = Blocks()
        self._titles = Titles(self._conversation, title_of)
        self._reply: _Reply | None = None
        self._nodes: dict[str, Seq] = {}
        self._reply_records: list[str] = []  # those that became the reply's node
        self._preserved: list[str] = []
        self._seed = inherited_through
        self._seed_is_told = False
        self._notes: dict[str, None] = {}
        self._resumed = memory is not None
        self._handlers: dict[str, Callable[[Envelope, bytes], None]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._system,
            "attachment": self._attachment,
            "custom-title": self._custom_title,
            "ai-title": self._ai_title,
            "summary": self._summary,
        }
        if memory is not None:
            self._remember(memory)

    def _remember(self, text: bytes) -> None:
        try:
            memory = msgspec.json.decode(text, type=_Memory)
        except msgspec.DecodeError as error:
            raise RecordingRewritten("it was read by another version of this reader") from error
        self._conversation.remember(memory.conversation)
        self._reply = memory.reply
        self._nodes = memory.nodes
        if memory.reply is not None:
            seq = memory.reply.seq
            self._reply_records = [uuid for uuid, node in memory.nodes.items() if node == seq]
        self._preserved = memory.preserved
        self._titles.remember(memory.title, memory.summaries)
        self._seed, self._seed_is_told = memory.seed, memory.seed_is_told
        self._notes = dict.fromkeys(memory.notes)

    def memory(self) -> bytes:
        memory = _Memory(
            self._conversation.memory(),
            self._reply,
            self._nodes,
            self._preserved,
            self._titles.summaries,
            self._titles.by,
            self._seed,
            self._seed_is_told,
            list(self._notes),
        )
        return lossless.encode(msgspec.to_builtins(memory))

    @property
    def header(self) -> SessionHeader:
        return self._header

    @property
    def next_seq(self) -> Seq:
        return self._conversation.next_seq

    def notes(self) -> list[str]:
        return list(self._notes)

    def media(self) -> tuple[RecordedMedia, ...]:
        return self._blocks.images.take()

    def tell(self, line: bytes | None) -> list[SessionEvent]:
        conversation = self._conversation
        if line is None:
            self._notes[TOO_LONG] = None
            tell_too_long(conversation, FAMILY)
            return conversation.told()
        record = self._envelopes.take(line)
        if record is None:
            self._notes[UNREADABLE] = None
            conversation.begin_record(None)
            tell_unreadable(conversation, FAMILY, line)
            return conversation.told()
        conversation.begin_record(epoch_millis(record.timestamp))
        if self._seed_is_told:
            self._end_seed()
        handler = self._handlers.get(record.type) if isinstance(record.type, str) else None
        (handler or self._opaque)(record, line)
        self._after(record)
        return conversation.told()

    def _after(self, record: Envelope) -> None:
        uuid = text_in(record.uuid)
        if uuid is None:
            return
        if uuid == self._seed:
            self._seed_is_told, self._seed = True, None
        if uuid not in self._nodes:
            self._note_node(uuid, -1)
        self._titles.told(uuid)

    def _note_node(self, uuid: Any, seq: Seq) -> None:
        """Remember which node a record became, -1 for none, as far as the record has a name."""
        if not isinstance(uuid, str):
            return
        nodes = self._nodes
        if uuid in nodes:
            del nodes[uuid]
        nodes[uuid] = seq
        if len(nodes) > _RECORDS_REMEMBERED:
            del nodes[next(iter(nodes))]

    def _end_seed(self) -> None:
        if self._resumed:
            raise RecordingRewritten("what the session inherited has an end now")
        self._seed_is_told = False
        seq = self._conversation.log("session/end-seed", {"inherited": True})
        self._header = replace(self._header, seed_length=seq)

    def _opaque(self, record: Envelope, line: bytes) -> None:
        tell_opaque(self._conversation, FAMILY, record.type, line)

    # What people and Claude Code say

    def _user(self, envelope: Envelope, line: bytes) -> None:
        record = members_of(line)
        content = content_of(record) if record is not None else None
        if record is None or not content:
            self._opaque(envelope, line)
            return
        results = [block for block in content if is_tool_result(block)]
        rest = [block for block in content if not is_tool_result(block)]
        if results:
            self._results(record, results)
        if rest:
            self._said(envelope, record, rest, with_results=bool(results))

    def _said(
        self, envelope: Envelope, record: dict[str, Any], content: list[Any], *, with_results: bool
    ) -> None:
        conversation = self._conversation
        message = {
            "id": text_in(envelope.uuid) or str(conversation.next_seq),
            "role": "user",
            "source": INJECTED,
            "content": [self._blocks.told(block) for block in content],
            "claudeCode": around(record),
        }
        if record.get("isCompactSummary") is True:
            seq = conversation.compaction({**message, "source": CHECKPOINT}, self._kept())
            self._reply, self._preserved = None, []
        elif not with_results and is_from_person(record, content):
            conversation.begin_turn()
            self._reply = None
            seq = conversation.message("user/message", {**message, "source": PERSON})
        else:
            seq = conversation.message("user/message", message)
            if is_interruption(content):
                conversation.end_turn(ABORTED)
        self._note_node(envelope.uuid, seq)

    def _kept(self) -> int:
        """How many nodes at the end of the surface the compaction preserves."""
        preserved = {self._nodes.get(uuid, -1) for uuid in self._preserved} - {-1}
        surface = self._conversation.surface()
        first = next((n for n, seq in enumerate(surface) if seq in preserved), len(surface))
        return len(surface) - first

    def _results(self, record: dict[str, Any], results: list[Any]) -> None:
        conversation = self._conversation
        extra: dict[str, Any] = {"claudeCode": around(record)}
        if "toolUseResult" in record:
            extra["meta"] = {"toolUseResult": record["toolUseResult"]}
        for block in results:
            call_id = text_in(block.get("tool_use_id")) or conversation.oldest_open_call()
            call_id = call_id or text_in(record.get("sourceToolUseID")) or "unknown"
            seq = conversation.result(
                call_id,
                self._blocks.of_result(block.get("content")),
                is_error=block.get("is_error") is True,
                extra=extra,
            )
            extra = {}
            self._note_node(record.get("uuid"), seq)

    # What the model says

    def _assistant(self, envelope: Envelope, line: bytes) -> None:
        record = members_of(line)
        content = content_of(record) if record is not None else None
        if record is None or content is None:
            self._opaque(envelope, line)
        elif is_failure(record):
            self._failed(record, content)
        else:
            self._replied(envelope, record, content)

    def _failed(self, record: dict[str, Any], content: list[Any]) -> None:
        if not self._conversation.turn_is_open:
            self._conversation.begin_turn()
        reason = {"kind": "error", "error": failure_in(record, content)}
        self._conversation.end_turn({**reason, "claudeCode": around(record)})
        self._reply = None

    def _replied(self, envelope: Envelope, record: dict[str, Any], content: list[Any]) -> None:
        conversation = self._conversation
        message = record["message"]
        reply = self._reply
        message_id = text_in(message.get("id"))
        before: Seq | None = None
        call_ids = [
            call_id_of(text_in(envelope.uuid), block, index) for index, block in enumerate(content)
        ]
        blocks = [self._blocks.told(*each) for each in zip(content, call_ids, strict=True)]
        if (
            reply is not None
            and reply.id == message_id
            and conversation.step_is_open
            and conversation.is_on_surface(reply.seq)
        ):
            before = reply.seq
            blocks = [*reply.content, *blocks]
        else:
            conversation.begin_step()
        source = {"provider": "anthropic", "model": message.get("model")}
        told: dict[str, Any] = {
            "turn": conversation.turn,
            "step": conversation.step,
            "message": {
                "id": message_id or text_in(envelope.uuid) or str(conversation.next_seq),
                "role": "assistant",
                "content": blocks,
                "source": source if text_in(message.get("model")) else {"provider": "anthropic"},
            },
        }
        usage = usage_of(message)
        if usage is not None:
            told["usage"] = usage
        if record.get("isAbortedMidStream") is True:
            told["interrupted"] = True
        reason = message.get("stop_reason")
        also = {} if reason is None else {"stop_reason": reason}
        told["claudeCode"] = {**around(record), **also}
        seq = conversation.message("assistant/message", told, replacing=before)
        if before is None:
            self._reply_records.clear()
        for uuid in self._reply_records:
            if self._nodes.get(uuid) == before:
                self._nodes[uuid] = seq
        if isinstance(envelope.uuid, str):
            self._note_node(envelope.uuid, seq)
            self._reply_records.append(envelope.uuid)
        self._reply = None if message_id is None else _Reply(message_id, seq, blocks)
        conversation.will_end({"kind": "max-tokens"} if reason == "max_tokens" else None)
        for block, call_id in zip(content, call_ids, strict=True):
            self._call(block, call_id)

    def _call(self, block: Any, call_id: str) -> None:
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            return
        name, given = text_in(block.get("name")) or "unknown", block.get("input")
        self._conversation.call(call_id, name, arguments_of(given))
        todos = given.get("todos") if isinstance(given, dict) else None
        if name == "TodoWrite" and are_todos(todos):
            self._conversation.log("todo/write", {"todos": todos})

    # What happens to the conversation

    def _system(self, envelope: Envelope, line: bytes) -> None:
        if envelope.subtype == "compact_boundary":
            self._preserved = preserved_in((parsed(line) or {}).get("compactMetadata"))
        self._opaque(envelope, line)

    def _attachment(self, envelope: Envelope, line: bytes) -> None:
        """A prompt that the person typed while the model worked joins the open turn."""
        record = parsed(line) or {}
        blocks = queued_prompt_in(record)
        if blocks is None:
            self._opaque(envelope, line)
            return
        message = {
            "id": text_in(envelope.uuid) or str(self._conversation.next_seq),
            "role": "user",
            "source": PERSON,
            "content": [self._blocks.told(block) for block in blocks],
            "claudeCode": around({k: v for k, v in record.items() if k != "attachment"}),
        }
        seq = self._conversation.message("user/message", message)
        self._note_node(envelope.uuid, seq)

    def _custom_title(self, envelope: Envelope, line: bytes) -> None:
        title = text_in((parsed(line) or {}).get("customTitle"))
        if title is None:
            self._opaque(envelope, line)
        else:
            self._titles.by_person(title)

    def _ai_title(self, envelope: Envelope, line: bytes) -> None:
        title = text_in((parsed(line) or {}).get("aiTitle"))
        if title is None or not self._titles.by_model(title):
            self._opaque(envelope, line)

    def _summary(self, envelope: Envelope, line: bytes) -> None:
        summary, leaf = text_in((parsed(line) or {}).get("summary")), text_in(envelope.leaf_uuid)
        is_title = False
        if summary is not None and leaf is not None:
            is_title = self._titles.by_summary(summary, leaf, is_told=leaf in self._nodes)
        if not is_title:
            self._opaque(envelope, line)
