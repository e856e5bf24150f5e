"""What an entry becomes on its way to a row, and that the way back gives the very same."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sqlite import codec
from sessiongraph.errors import CorruptSession
from sessiongraph.event import DeltaRun, Seq, SessionEvent
from tests.contracts.log_stage import told_entry
from tests.strategies import any_text, delta_runs, json_text, json_values

INCOMPRESSIBLE = random.Random(1).randbytes(2_000).hex()[:2_000]


# Payloads


@given(st.binary(max_size=2_000) | st.binary(max_size=40).map(lambda part: part * 60))
def test_packing_is_undone_by_unpacking(text: bytes) -> None:
    stored, packed = codec.pack(text)
    assert codec.unpack(stored, packed) == text
    assert len(stored) <= len(text)


def test_only_what_becomes_smaller_is_compressed() -> None:
    assert codec.pack(b"a" * (codec.COMPRESS_FROM - 1))[1] is False
    assert codec.pack(b"a" * codec.COMPRESS_FROM)[1] is True
    noise = random.Random(1).randbytes(4_000)
    assert codec.pack(noise) == (noise, False)


@pytest.mark.parametrize("stored", [b"", b"nonsense", codec.pack(b"a" * 999)[0][:-3]])
def test_what_does_not_decompress_is_a_corrupt_session(stored: bytes) -> None:
    with pytest.raises(CorruptSession):
        codec.unpack(stored, True)


# Streams


def with_stream(stream: Any, spaced: bool = False, **members: Any) -> SessionEvent:
    data = {"turn": 1, "message": {"content": []}, "stream": stream, **members}
    return SessionEvent(0, "assistant/message", 1, json_text(data, spaced=spaced))


def test_a_large_stream_is_split_off_and_its_place_is_kept() -> None:
    event = with_stream([INCOMPRESSIBLE], after=1)
    rest, stream = codec.split_stream(event)
    assert json.loads(rest) == {
        "turn": 1, "message": {"content": []}, "stream": None, "after": 1,
    }  # fmt: skip
    assert list(json.loads(rest)) == ["turn", "message", "stream", "after"]
    assert stream is not None
    assert json.loads(stream) == [INCOMPRESSIBLE]
    assert codec.join_stream(rest, stream) == event.payload


@given(
    before=st.dictionaries(any_text, json_values(4), max_size=3),
    stream=st.lists(json_values(4), max_size=3),
    after=st.dictionaries(any_text, json_values(4), max_size=3),
    spaced=st.booleans(),
    name=st.sampled_from(("assistant/message", "assistant/attempt", "user/message")),
)
def test_splitting_and_joining_gives_back_the_very_bytes(
    before: dict[str, Any], stream: list[Any], after: dict[str, Any], spaced: bool, name: str
) -> None:
    data = {**before, "stream": [*stream, INCOMPRESSIBLE], **after}
    event = SessionEvent(0, name, 1, json_text(data, spaced=spaced))
    rest, apart = codec.split_stream(event)
    if apart is None:
        assert rest == event.payload
    else:
        assert codec.join_stream(rest, apart) == event.payload


@pytest.mark.parametrize(
    "payload",
    [
        b'{ "stream" : [%s] , "a": 1 }' % json_text(INCOMPRESSIBLE),
        b'{"str\\u0065am":[%s],"a":1}' % json_text(INCOMPRESSIBLE),
        b'{"stream":1,"stream":[%s]}' % json_text(INCOMPRESSIBLE),
        b'{"a":"\\ud800","stream":[%s]}' % json_text(INCOMPRESSIBLE),
        b'{"\\ud800":1,"stream":[%s]}' % json_text(INCOMPRESSIBLE),
        b'{"a":1.0e2,"stream":[%s],"b":12345678901234567890123}' % json_text(INCOMPRESSIBLE),
        b'{"a":{"stream":[%s]}}' % json_text(INCOMPRESSIBLE),
    ],
    ids=range(7),
)
def test_however_a_payload_is_written_its_bytes_come_back(payload: bytes) -> None:
    event = SessionEvent(0, "assistant/message", 1, payload)
    rest, stream = codec.split_stream(event)
    assert (rest if stream is None else codec.join_stream(rest, stream)) == payload


# Sources


@given(
    st.none() | st.lists(st.integers(0, 60), max_size=20) | st.sets(st.integers(0, 60)).map(sorted)
)
def test_sources_come_back_in_the_order_in_which_they_were_recorded(
    sources: list[Seq] | None,
) -> None:
    found = codec.decode_sources(codec.encode_sources(sources))
    assert found == (None if sources is None else tuple(sources))


def test_ranges_of_sources_are_written_as_their_ends() -> None:
    sources = [*range(5, 100_000), 3, 4, 1]
    stored = codec.encode_sources(sources)
    assert stored == b"[[5,99999],3,4,1]"
    assert codec.decode_sources(stored) == tuple(sources)


@given(st.lists(st.integers(0, 40), max_size=30))
def test_ascending_runs_are_maximal_and_in_order(seqs: list[Seq]) -> None:
    runs = list(codec.ascending_runs(seqs))
    assert [seq for first, last in runs for seq in range(first, last + 1)] == seqs
    assert all(before[1] + 1 != after[0] for before, after in pairwise(runs))


# Runs


@given(st.integers(0, 2**31).flatmap(delta_runs))
def test_a_run_comes_back_as_it_was(given_run: DeltaRun) -> None:
    found = codec.decode_run(given_run.seq, given_run.time, codec.encode_run(given_run))
    assert told_entry(found) == told_entry(given_run)


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b'["no-chunks",1,1,0,[],["a"],null,null]'])
def test_a_payload_that_is_no_run_is_a_corrupt_session(payload: bytes) -> None:
    with pytest.raises(CorruptSession, match="event 7"):
        codec.decode_run(7, 1, payload)


# Text


@given(st.lists(any_text, max_size=6))
def test_octets_sort_as_the_code_points_of_their_texts(texts: list[str]) -> None:
    assert [codec.from_octets(each) for each in sorted(map(codec.to_octets, texts))] == sorted(
        texts
    )
