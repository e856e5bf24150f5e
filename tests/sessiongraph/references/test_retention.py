"""The budget: exactly the plain rule, whatever is fed in, in whatever order."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.ports import ConversationTotals
from sessiongraph.references.conversation import Said
from sessiongraph.references.cutting import NOTE_MAX_BYTES, cut_text, note
from sessiongraph.references.errors import ReferenceBudgetExceeded
from sessiongraph.references.rendering import message_octets, opening
from sessiongraph.references.retention import Retained, Retention
from tests.sessiongraph.references.plain_retention import (
    PlainSnapshot,
    plain_length,
    plain_octets,
    plain_retention,
)

FIELDS: dict[str, object] = {
    "sessionId": "s<1>",
    "label": "\ud800",
    "cwd": None,
    "capturedThroughSeq": 7,
}
OPENING = opening("s<1>", "\ud800", None, 7)

characters = st.sampled_from('ab <>"\\\n\x00é中🚀\ud800\udc00\u2028')
texts = st.one_of(
    st.text(characters, min_size=1, max_size=8),
    st.text(characters, min_size=1, max_size=150),
    st.builds(lambda text, times: text * times, st.text(characters, min_size=1), st.integers(1, 9)),
)


@st.composite
def conversations(draw: st.DrawFn, max_size: int = 9) -> list[Said]:
    """Messages in model order, some of them checkpoints, places between them free."""
    places = sorted(draw(st.sets(st.integers(0, 40), max_size=max_size)))
    return [
        Said(
            place,
            draw(st.sampled_from(("user", "assistant"))),
            draw(texts),
            draw(st.sampled_from((False, False, False, True))),
        )
        for place in places
    ]


def retained(conversation: Sequence[Said], max_bytes: int) -> Retained | None:
    """What is kept of messages that are fed in as given; None when nothing fits."""
    retention = Retention(OPENING, max_bytes)
    for said in conversation:
        retention.add(said)
    try:
        return retention.finish()
    except ReferenceBudgetExceeded:
        return None


def told(found: Retained | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "data": found.octets,
        "compacted": found.compacted,
        "original_messages": found.original_messages,
        "retained_messages": found.retained_messages,
        "omitted_messages": found.omitted_messages,
        "omitted_bytes": found.omitted_bytes,
        "truncated": found.truncated,
    }


def expected(plain: PlainSnapshot | None) -> dict[str, object] | None:
    return None if plain is None else asdict(plain)


@given(conversation=conversations(), max_bytes=st.integers(60, 900), data=st.data())
def test_whatever_the_order_of_feeding_the_plain_rule_holds(
    conversation: list[Said], max_bytes: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(conversation) | st.just(conversation[::-1]))
    plain = plain_retention(FIELDS, conversation, max_bytes)
    assert told(retained(order, max_bytes)) == expected(plain)


@given(conversation=conversations(), data=st.data())
def test_the_rule_holds_at_the_very_borders_of_what_fits(
    conversation: list[Said], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(conversation)))
    exact = len(
        plain_octets(
            {
                **FIELDS,
                "conversation": [
                    {"role": each.role, "text": each.text} for each in conversation[start:]
                ],
            }
        )
    )
    max_bytes = exact + data.draw(st.integers(-2, 1))
    plain = plain_retention(FIELDS, conversation, max_bytes)
    assert told(retained(conversation[::-1], max_bytes)) == expected(plain)


@given(conversation=conversations(), max_bytes=st.integers(60, 900))
def test_a_snapshot_never_exceeds_its_budget_and_is_json_without_a_tag(
    conversation: list[Said], max_bytes: int
) -> None:
    found = retained(conversation, max_bytes)
    if found is not None:
        assert len(found.octets) <= max_bytes
        assert b"<" not in found.octets
        told_fields = json.loads(found.octets)
        assert list(told_fields) == [*FIELDS, "conversation"]
        assert all(list(each) == ["role", "text"] for each in told_fields["conversation"])


@given(conversation=conversations(12), max_bytes=st.integers(60, 900))
def test_with_the_totals_known_the_walk_may_end_early(
    conversation: list[Said], max_bytes: int
) -> None:
    totals = ConversationTotals(
        len(conversation), sum(plain_length(each.text) for each in conversation)
    )
    retention = Retention(OPENING, max_bytes)
    for said in conversation:
        if said.checkpoint:
            retention.add(said)
    for said in reversed(conversation):
        if retention.settled_before(said.position + 1):
            break
        if not said.checkpoint:
            retention.add(said)
    plain = plain_retention(FIELDS, conversation, max_bytes)
    try:
        found = told(retention.finish(totals))
    except ReferenceBudgetExceeded:
        found = None
    assert found == expected(plain)


@given(text=texts, room=st.integers(-50, 400))
def test_a_cut_text_is_whole_code_points_and_says_exactly_what_is_missing(
    text: str, room: int
) -> None:
    length = plain_length(text)
    if len(message_octets("user", text)) <= room:
        return
    cut, missing = cut_text("user", text, length, room)
    if not cut:
        assert missing == length
        return
    body, line = cut.rsplit("\n", 1)
    assert line == note(missing)
    assert len(line.encode()) < NOTE_MAX_BYTES
    assert missing == length - plain_length(body) > 0
    assert len(message_octets("user", cut)) <= room
    assert any(
        text.startswith(body[:split]) and text.endswith(body[split:])
        for split in range(len(body) + 1)
    )


def test_a_text_longer_than_the_budget_is_cut_as_if_it_had_been_held_whole() -> None:
    text = "".join(f"{number} 中🚀<" for number in range(400))
    conversation = [Said(3, "user", text, True), Said(9, "assistant", text + "!")]
    found = retained(conversation, 700)
    assert found is not None
    assert told(found) == expected(plain_retention_of_ends(conversation, 700))


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_message_longer_than_the_budget_rules_out_every_older_one(order: tuple[int, ...]) -> None:
    conversation = [
        Said(1, "user", "older"),
        Said(2, "assistant", "long" * 200),
        Said(3, "user", "newer"),
        Said(4, "assistant", "newest"),
    ]
    found = retained([conversation[place] for place in order], 300)
    assert told(found) == expected(plain_retention(FIELDS, conversation, 300))
    assert found is not None
    assert found.retained_messages == 2


def plain_retention_of_ends(conversation: list[Said], max_bytes: int) -> PlainSnapshot:
    """The plain rule by arithmetic: the longer text is cut away, the other to what remains."""
    first, last = conversation
    ends = max_bytes
    while True:
        head = first.text.encode()[:ends].decode(errors="ignore")
        tail = first.text.encode()[-ends:].decode(errors="ignore") if ends else ""
        gone = plain_length(first.text) - plain_length(head + tail)
        data = plain_octets(
            {
                **FIELDS,
                "conversation": [
                    {"role": "user", "text": f"{head}{tail}\n{note(gone)}"},
                    {"role": "assistant", "text": ""},
                ],
            }
        )
        if len(data) <= max_bytes:
            return PlainSnapshot(data, True, 2, 2, 0, gone + plain_length(last.text), True)
        ends -= 1


@pytest.mark.parametrize("missing", [1, 10**6, 10**18])
def test_the_note_is_one_short_line_that_names_the_number(missing: int) -> None:
    line = note(missing)
    assert len(line.encode()) < NOTE_MAX_BYTES
    assert "\n" not in line
    assert str(missing) in line


def test_dropping_costs_no_more_for_each_message_when_there_are_many() -> None:
    def seconds(count: int) -> float:
        retention = Retention(OPENING, 20_000)
        start = time.perf_counter()
        for position in range(count, 0, -1):
            retention.add(Said(position, "user", f"message number {position}", position == 5))
        assert retention.finish().original_messages == count
        return time.perf_counter() - start

    seconds(2000)
    few, many = min(seconds(4000) for _ in range(3)), min(seconds(40_000) for _ in range(3))
    assert many < 30 * few


def test_an_empty_conversation_needs_room_for_the_fields_alone() -> None:
    size = len(plain_octets({**FIELDS, "conversation": []}))
    found = retained([], size)
    assert found is not None
    assert len(found.octets) == size
    assert (found.original_messages, found.truncated) == (0, False)
    assert retained([], size - 1) is None
