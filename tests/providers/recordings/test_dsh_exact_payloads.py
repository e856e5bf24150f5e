"""What other programs would read differently is kept as written, and noted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessiongraph.event import DeltaRun, SessionEvent
from tests.providers.recordings.dsh_writing import Reading, header_row, read, row, write


def reading_of(tmp_path: Path, payload: bytes, extra: bytes = b"") -> Reading:
    line = b'{"type":"hook/result","seq":0,"time":1,"data":%s%s}\n' % (payload, extra)
    return read(write(tmp_path / "log.jsonl", [header_row(), line, row(1)]))


@pytest.mark.parametrize(
    ("payload", "phrase"),
    [
        (b'{"a":"\\ud800"}', "lone surrogates"),
        (b'{"a":"x\\udc00y", "b":1}', "lone surrogates"),
        (b'{"\\ud800":1.0}', "lone surrogates"),
        (b'{"a":[12345678901234567890]}', "integers beyond 2^53"),
        (b'{"a":-0.0}', "negative zero"),
        (b'{"a":"\\ud800","a":1}', "duplicate keys"),
    ],
)
def test_a_payload_that_is_not_lossless_is_kept_and_noted(
    tmp_path: Path, payload: bytes, phrase: str
) -> None:
    reading = reading_of(tmp_path, payload)
    event = reading.entries[0]
    assert isinstance(event, SessionEvent)
    assert event.payload == payload
    assert f"1 payload holds {phrase}, kept as written." in reading.notes


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":"\\ud83d\\ude00"}',
        b'{"a":"2026-01-09 -0 1234567890123456789"}',
        b'{"a":0.12345678901234567}',
        b'{"a":9007199254740991}',
        b'{"a":-0.5}',
        '{"a":"超时🚀"}'.encode(),
    ],
)
def test_a_lossless_payload_needs_no_note(tmp_path: Path, payload: bytes) -> None:
    reading = reading_of(tmp_path, payload)
    assert reading.events[0]["seq"] == 0
    assert reading.notes == ()


def test_a_long_number_far_inside_of_a_payload_is_found(tmp_path: Path) -> None:
    for lead in (2**20 - 12, 2**20 - 2, 2**21):
        payload = b'{"a":"' + b"x" * lead + b'","b":123456789012345678}'
        assert reading_of(tmp_path, payload).notes == (
            "1 payload holds integers beyond 2^53, kept as written.",
        )


def test_several_payloads_share_one_note(tmp_path: Path) -> None:
    line = b'{"type":"turn/start","seq":%d,"time":1,"data":{"a":"\\ud800"}}\n'
    rows = [header_row(), *(line % seq for seq in range(3))]
    reading = read(write(tmp_path / "log.jsonl", rows))
    assert reading.notes == ("3 payloads hold lone surrogates, kept as written.",)


def test_lone_surrogates_in_a_packed_row_are_kept(tmp_path: Path) -> None:
    line = (
        b'{"type":"text-chunks","seq0":0,"time0":1,"data":'
        b'{"turn":1,"step":1,"index":0,"dt":[1],"texts":["\\ud83d","\\ude00"]}}\n'
    )
    reading = read(write(tmp_path / "log.jsonl", [header_row(), line]))
    (run,) = reading.entries
    assert isinstance(run, DeltaRun)
    assert list(run.texts) == ["\ud83d", "\ude00"]
    assert reading.notes == ("1 payload holds lone surrogates, kept as written.",)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"a":NaN}',
        b'{"a":"\\ud800","b":NaN}',
        b'{"a":01}',
        b"[1]",
        b"null",
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_a_payload_that_is_no_json_object_breaks_its_row(tmp_path: Path, payload: bytes) -> None:
    reading = reading_of(tmp_path, payload)
    assert reading.entries == []
    assert reading.notes[0].startswith("Line 2 is broken and the log ends before it: ")
