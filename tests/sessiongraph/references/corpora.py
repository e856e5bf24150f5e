"""Small corpora in the plain store, and the services of references over them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from pytest import MonkeyPatch

from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.event import Entry, Seq, SessionEvent
from sessiongraph.header import SessionHeader
from sessiongraph.live_tail import TailedLog
from sessiongraph.ports import LogStore
from sessiongraph.query import Observation, QueryLimits, SessionQuery
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput
from sessiongraph.references.prepare import PreparedMessage, ReferenceService
from tests.plain_store import PlainLogStore
from tests.strategies import message, placed, prompt, user_message

Log = tuple[SessionHeader, Sequence[Entry]]
SELF = "self"


def store_of(*logs: Log) -> PlainLogStore:
    """A store with these sessions."""
    store = PlainLogStore()
    for header, log in logs:
        put(store, header, log)
    return store


def put(store: PlainLogStore, header: SessionHeader, log: Sequence[Entry]) -> None:
    """Publish a valid log, in the place of one with its id."""
    placed(log)
    store.publish(None, header, tuple(log), None, must_be_new=False)


def query_over(store: LogStore, page_max: int = 200) -> SessionQuery:
    """The reading service over a store."""
    limits = QueryLimits(page_max=page_max)
    return SessionQuery(Corpus(store), CursorCodec(b"k" * KEY_BYTES), limits)


@asynccontextmanager
async def observing(store: LogStore, page_max: int = 200) -> AsyncIterator[Observation]:
    async with query_over(store, page_max).observe() as observation:
        yield observation


async def prepared(
    store: LogStore,
    *references: ReferenceInput,
    text: str = "",
    session_id: str = SELF,
    **limits: int,
) -> PreparedMessage:
    """A message prepared over a store."""
    service = ReferenceService(query_over(store), ReferenceLimits(**limits))
    return await service.prepare(session_id, text, references)


def data_in(content: str) -> str:
    """The JSON between the tags of a context message."""
    _, rest = content.split("<referenced-sessions>\n")
    data, end = rest.split("\n</referenced-sessions>")
    assert end == ""
    return data


def snapshots_in(message: PreparedMessage) -> list[dict[str, Any]]:
    """The snapshots that a prepared message carries."""
    assert message.context is not None
    found: list[dict[str, Any]] = json.loads(data_in(message.context.content))
    return found


def answer(seq: Seq, text: str, **members: Any) -> SessionEvent:
    """An assistant's message."""
    body = {"id": "a", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return message(seq, "assistant/message", {"turn": 1, "step": 1, "message": body}, **members)


def checkpoint(seq: Seq, text: str, first: Seq, last: Seq) -> SessionEvent:
    """A checkpoint in the place of a span of messages with consecutive seqs."""
    data = user_message(text, "compact-checkpoint")
    sources = range(first, last + 1)
    return message(seq, "user/message", data, replaces=(first, last), sources=sources)


def talk(count: int, text: str = "message") -> list[Entry]:
    """Prompts and answers in turn."""
    return [
        prompt(seq, f"{text} {seq}") if seq % 2 == 0 else answer(seq, f"{text} {seq}")
        for seq in range(count)
    ]


@contextmanager
def totals_told(told: bool) -> Iterator[None]:
    """With ``told`` False no log tells its totals, so that every surface is walked to its end."""
    with MonkeyPatch.context() as patch:
        if not told:
            patch.setattr(TailedLog, "conversation_totals", _nothing_is_told)
        yield


async def _nothing_is_told(_: TailedLog) -> None:
    """As of a log of which a part is not on disk yet."""


def plain_said(event: SessionEvent) -> tuple[str, bool]:
    """The text that is carried from an event, and whether it is a checkpoint."""
    data = json.loads(event.payload)
    if event.type == "user/message":
        source = data["source"]
        condensed = source["kind"] == "compact-checkpoint" or source.get("plugin") == "compact"
        carried = condensed or source["kind"] == "user"
        return (plain_text(data["content"]) if carried else ""), condensed
    if event.type == "assistant/message":
        return plain_text(data["message"]["content"]), False
    return "", False


def plain_text(content: list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")
