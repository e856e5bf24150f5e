"""What posting a message logs: the readable words of its author, and right after them the context.

Both go into the log in one append. The context is a message of its own, injected and not by a
person, and is never merged into the author's words: whoever reads the log later can tell who said
what. Its source names each cited session and how much of it was seen, which is what citations are
indexed by (references.md, "Prepare").
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, Final

from sessiongraph.corpus import LogicalSession
from sessiongraph.event import PlacedEvent, Seq
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.new_event import NewEvent
from sessiongraph.payloads import (
    HUMAN_SOURCE,
    REFERENCE_SOURCE,
    citations_of,
    content_of,
    text_of,
)
from sessiongraph.ports import WindowRequest
from sessiongraph.references.mention import ReferenceInput, parse_text
from sessiongraph.references.prepare import PreparedMessage, ReferenceStats
from sessiongraph.references.uri import encode_uri

SOURCE_VERSION: Final = 1
"""The shape of a context message's source."""

_NAMESPACE: Final = uuid.UUID("6f2ff3a5-6d3c-5d0e-9f0a-0f3a4f1b7c55")


def events_to_post(
    session_id: str, prepared: PreparedMessage, expected_seq: Seq | None = None
) -> list[NewEvent]:
    """The events of one append: the message, then its context if there is one.

    expected_seq: the seq that the message must get. It then has the same id however often it is
        posted, so that an append whose answer was lost is recognised when it is sent again.

    Raises:
        InvalidEvent: the text, a label or an id holds lone surrogates, which a log of ours refuses.
    """
    author = {"kind": HUMAN_SOURCE}
    events = [_message(_message_id(session_id, expected_seq, 0), author, prepared.text)]
    context = prepared.context
    if context is not None:
        source = {
            "kind": REFERENCE_SOURCE,
            "version": SOURCE_VERSION,
            "references": [_stats_data(each) for each in context.references],
        }
        events.append(_message(_message_id(session_id, expected_seq, 1), source, context.content))
    return events


async def posted_before(
    session: LogicalSession,
    expected_seq: Seq,
    text: str,
    references: Iterable[ReferenceInput] = (),
) -> list[PlacedEvent]:
    """The events that the same call has posted at this seq; none when it has not.

    The words and the referenced sessions must be the same. What was carried need not be: the
    sources may have grown since.

    Raises:
        InvalidReference: see :func:`~sessiongraph.references.mention.parse_text`.
    """
    parsed = parse_text(text)
    cited = {each.session_id: None for each in (*parsed.references, *references)}
    window = WindowRequest(2, after=expected_seq - 1, before=expected_seq + 2)
    events = (await session.log.events(ALL_EVENTS, window))[: 2 if cited else 1]
    ids = [_message_id(session.session_id, expected_seq, offset) for offset in range(2)]
    if [each.event.data.get("id") for each in events] != ids[: len(events)] or not events:
        return []
    message = events[0].event
    if text_of(content_of(message.type, message.data)) != parsed.text:
        return []
    carried = [each.target_id for each in citations_of(events[1].event.data)] if cited else []
    return events if carried == list(cited) else []


def _message(message_id: str, source: dict[str, Any], text: str) -> NewEvent:
    data = {
        "id": message_id,
        "role": "user",
        "source": source,
        "content": [{"type": "text", "text": text}],
    }
    return NewEvent.of("user/message", data)


def _message_id(session_id: str, expected_seq: Seq | None, offset: int) -> str:
    if expected_seq is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{encode_uri(session_id)}#{expected_seq + offset}"))


def _stats_data(stats: ReferenceStats) -> dict[str, Any]:
    return {
        "sessionId": stats.session_id,
        "label": stats.label,
        "capturedThroughSeq": stats.captured_through_seq,
        "compacted": stats.compacted,
        "originalMessages": stats.original_messages,
        "retainedMessages": stats.retained_messages,
        "omittedMessages": stats.omitted_messages,
        "omittedBytes": stats.omitted_bytes,
        "truncated": stats.truncated,
    }
