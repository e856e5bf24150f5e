"""References as the reference implementation answers them, byte for byte.

Where a text had to be cut, the words of the note are our own: the same messages must be kept, the
cut one must fill the budget to within 100 bytes, and every count must be exact.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessiongraph.errors import SessionGraphError
from sessiongraph.references.candidates import candidates
from sessiongraph.references.errors import InvalidReference
from sessiongraph.references.limits import ReferenceLimits
from sessiongraph.references.mention import ReferenceInput, mention_of, parse_text
from sessiongraph.references.prepare import ReferenceService, ReferenceStats
from sessiongraph.references.uri import decode_uri, encode_uri
from tests.oracle import corpus_answers, needs_oracle, read_session, session_files
from tests.plain_store import PlainLogStore, run
from tests.sessiongraph.references.corpora import (
    data_in,
    observing,
    query_over,
    store_of,
    totals_told,
)
from tests.sessiongraph.references.plain_retention import plain_length, plain_octets

pytestmark = needs_oracle

Answer = dict[str, Any]
ANSWERS = corpus_answers()
URIS: dict[str, list[Answer]] = ANSWERS.get("uri", {})
REFERENCES: list[Answer] = ANSWERS.get("references", [])
CANDIDATES: list[Answer] = ANSWERS.get("candidates", [])


@pytest.fixture(scope="module")
def store() -> PlainLogStore:
    return store_of(*(read_session(path) for path in session_files()))


@pytest.mark.parametrize("answer", URIS.get("encode", []), ids=lambda each: ascii(each["id"]))
def test_encoding(answer: Answer) -> None:
    assert encode_uri(answer["id"]) == answer["uri"]


@pytest.mark.parametrize("answer", URIS.get("decode", []), ids=lambda each: each["uri"])
def test_decoding(answer: Answer) -> None:
    if "ok" in answer["result"]:
        assert decode_uri(answer["uri"]) == answer["result"]["ok"]
        return
    with pytest.raises(ValueError):
        decode_uri(answer["uri"])


@pytest.mark.parametrize("answer", URIS.get("format", []), ids=lambda each: each["mention"])
def test_writing_a_mention(answer: Answer) -> None:
    given = answer["input"]
    assert mention_of(ReferenceInput(given["sessionId"], given.get("label"))) == answer["mention"]


@pytest.mark.parametrize("answer", URIS.get("parse", []), ids=lambda each: ascii(each["text"]))
def test_reading_a_text(answer: Answer) -> None:
    result = answer["result"]
    if "ok" not in result:
        with pytest.raises(InvalidReference) as caught:
            parse_text(answer["text"])
        assert caught.value.code == result["error"]["code"]
        return
    parsed = parse_text(answer["text"])
    references = [{"sessionId": each.session_id, "label": each.shown} for each in parsed.references]
    assert {"text": parsed.text, "references": references} == result["ok"]


def told_stats(stats: ReferenceStats, index: int) -> Answer:
    """The accounting of one source as the answers spell it."""
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
        "inputIndex": index,
    }


@pytest.mark.parametrize("with_totals", [False, True], ids=["walked", "totals"])
@pytest.mark.parametrize("answer", REFERENCES)
def test_preparing(store: PlainLogStore, answer: Answer, with_totals: bool) -> None:
    limits = ReferenceLimits(max_reference_bytes=answer["maxReferenceBytes"])
    service = ReferenceService(query_over(store), limits)
    inputs = [ReferenceInput(each["sessionId"], each.get("label")) for each in answer["references"]]
    with totals_told(with_totals):
        if "error" in answer:
            with pytest.raises(SessionGraphError) as caught:
                run(service.prepare(answer["agent"], "", inputs))
            assert caught.value.code == answer["error"]
            return
        context = run(service.prepare(answer["agent"], "", inputs)).context
    expected = answer["ok"]
    if not expected["data"]:
        assert context is None
        return
    assert context is not None
    stats = [told_stats(each, index) for index, each in enumerate(context.references)]
    data = data_in(context.content)
    cut = [is_cut(json.loads(expected["data"]), each) for each in expected["stats"]]
    if not any(cut):
        assert (data, stats) == (expected["data"], expected["stats"])
        return
    for mine, theirs, my_stats, their_stats in zip(
        json.loads(data), json.loads(expected["data"]), stats, expected["stats"], strict=True
    ):
        assert_cut_alike(mine, theirs, answer["maxReferenceBytes"])
        kept = sum(plain_length(each["text"]) for each in mine["conversation"])
        kept_there = sum(plain_length(each["text"]) for each in theirs["conversation"])
        notes = sum(note_length(each["text"]) for each in mine["conversation"])
        notes_there = sum(note_length(each["text"]) for each in theirs["conversation"])
        whole = their_stats["omittedBytes"] + kept_there - notes_there
        assert my_stats == {**their_stats, "omittedBytes": whole - kept + notes}


def is_cut(snapshots: list[Answer], stats: Answer) -> bool:
    """Whether a text of a source was cut, or emptied."""
    (snapshot,) = (each for each in snapshots if each["sessionId"] == stats["sessionId"])
    return any(
        not each["text"] or note_length(each["text"]) > 0 for each in snapshot["conversation"]
    )


def note_length(text: str) -> int:
    """Bytes of the note at the end of a text and of its line break; 0 without one."""
    _, found, line = text.rpartition("\n")
    is_note = bool(found) and line.startswith("[… ") and "UTF-8 bytes" in line
    return plain_length(line) + 1 if is_note else 0


def assert_cut_alike(mine: Answer, theirs: Answer, max_bytes: int) -> None:
    """The same messages, the same emptied ones, and the cut one as long as it can be."""
    size = len(plain_octets(mine))
    assert size <= max_bytes
    assert abs(size - len(plain_octets(theirs))) <= 100
    assert {**mine, "conversation": None} == {**theirs, "conversation": None}
    for my_message, their_message in zip(mine["conversation"], theirs["conversation"], strict=True):
        assert my_message["role"] == their_message["role"]
        if not note_length(their_message["text"]):
            assert my_message == their_message
        else:
            assert note_length(my_message["text"]) > 0
            assert size >= max_bytes - 100
            start = len(their_message["text"]) // 6
            assert my_message["text"][:start] == their_message["text"][:start]


@pytest.mark.parametrize("answer", CANDIDATES, ids=lambda each: each["agent"] + each["query"])
def test_candidates(store: PlainLogStore, answer: Answer) -> None:
    async def offered() -> list[Answer]:
        async with observing(store, page_max=7) as observation:
            found = await candidates(
                observation, ReferenceLimits(), answer["agent"], answer["query"]
            )
        return [
            {
                "sessionId": each.session_id,
                "label": each.label,
                **({} if each.cwd is None else {"cwd": each.cwd}),
                "createdAt": each.created_at,
                "mention": each.mention,
            }
            for each in found
        ]

    assert run(offered()) == answer["items"]
