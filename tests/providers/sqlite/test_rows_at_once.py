"""Many rows go into the events with one statement; one that cannot stand takes all of them back."""

from __future__ import annotations

from pathlib import Path

import pytest

from providers.sqlite.append_jobs import AppendJob, append_all
from providers.sqlite.appending import prepare
from providers.sqlite.connections import open_writer
from providers.sqlite.headers import insert_log
from providers.sqlite.numbering import VISIBLE
from providers.sqlite.writer import Writer
from sessiongraph.errors import PersistenceFailed
from sessiongraph.event import SessionEvent
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.surface import Transition
from tests.providers.sqlite.raw import rows
from tests.strategies import header, prompt

IO_OF_THIS_PROCESS = Path("/proc/self/io")

TYPES = {"assistant/chunk": 1, "turn/start": 2}


def entries(first: int, count: int) -> list[PlacedEntry]:
    return [
        PlacedEntry(SessionEvent(seq, "turn/start", seq, b"{}"), Transition(seq, seq, None))
        for seq in range(first, first + count)
    ]


def octets_written() -> str:
    return IO_OF_THIS_PROCESS.read_text().partition("wchar:")[2].partition("\n")[0]


def seqs(path: Path) -> list[int]:
    return [event & 0xFFFFFFFF for (event,) in rows(path, "SELECT id FROM events ORDER BY id")]


@pytest.mark.parametrize("count", [1, 49, 50, 51, 100, 149])
def test_every_row_of_a_batch_is_written_once(tmp_path: Path, count: int) -> None:
    path = tmp_path / "log.db"
    writer = Writer(open_writer(path))
    writer.submit(prepare(1, entries(0, count), TYPES).write).result()
    writer.close()
    assert seqs(path) == list(range(count))


def test_a_row_that_is_there_already_leaves_nothing_of_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    writer = Writer(open_writer(path))
    writer.submit(prepare(1, entries(70, 1), TYPES).write).result()
    with pytest.raises(PersistenceFailed):
        writer.submit(prepare(1, entries(0, 120), TYPES).write).result()
    writer.close()
    assert seqs(path) == [70]


@pytest.mark.skipif(not IO_OF_THIS_PROCESS.exists(), reason="it is not told here")
def test_rows_of_many_logs_write_nothing_before_their_commit(tmp_path: Path) -> None:
    """A statement that kept a journal would copy every page that it touches into a file."""
    connection = open_writer(tmp_path / "log.db")
    types = {**TYPES, "user/message": 3}
    for seq in range(40):
        jobs = []
        for number in range(1, 251):
            if seq == 0:
                insert_log(connection, header(f"log {number}"), state=VISIBLE, epoch=number)
            said = PlacedEntry(prompt(seq, "to all of them"), Transition(seq, seq, seq))
            batch = prepare(number, [said], types)
            jobs.append(AppendJob(f"log {number}", (number, number), batch))
        connection.execute("BEGIN IMMEDIATE")
        before = octets_written()
        assert not any(isinstance(each, Exception) for each in append_all(connection, jobs))
        assert octets_written() == before
        connection.execute("COMMIT")
    connection.close()


def test_bound_values_stay_what_they_are(tmp_path: Path) -> None:
    connection = open_writer(tmp_path / "log.db")
    values = (None, b"", b"octets", 1, 1.5, "text", bytearray(b"more"))
    bound = connection.execute(f"SELECT {', '.join('?' * len(values))}", values).fetchone()
    connection.close()
    assert bound == values
    assert [type(value) for value in bound[:3]] == [type(None), bytes, bytes]
