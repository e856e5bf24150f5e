"""Nobody waits for who reads the log: not a request, not the end of the server."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.log_lines import MOST_WAITING, LinesAside, lines_written_aside
from tests.hostile.crowd import Target, run
from tests.server.processes import RunningServer, serving

PIPE_BYTES = 1 << 16
"""What a pipe takes that nobody reads."""


def fill_stderr(server: RunningServer) -> int:
    """Have more logged than a pipe takes; answers how many lines."""
    asked = 0
    name = "q" * 64
    while asked * 160 < 2 * PIPE_BYTES:
        status, answer = server.post(json.dumps({"query": f"query {name} {{ __typename }}"}))
        assert (status, answer["data"]) == (200, {"__typename": "Query"})
        asked += 1
    return asked


def test_a_server_answers_and_stops_although_nobody_reads_its_log(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-level", "debug") as server:
        fill_stderr(server)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        server.process.communicate()


def test_a_log_that_is_read_late_is_whole(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--log-level", "debug") as server:
        asked = fill_stderr(server)
        code, _, errors = server.stop()
    events = [json.loads(line)["event"] for line in errors.splitlines()]
    assert code == 0
    assert events.count("operation") == asked
    assert events[-1] == "stopped"


def test_clients_that_leave_amid_their_questions_are_not_worth_a_line(tmp_path: Path) -> None:
    query = {"query": "subscription { corpus { __typename } }"}
    subscribe = [{"type": "subscribe", "id": str(n), "payload": query} for n in range(1000)]
    with serving(tmp_path / "data") as server:

        async def ask_and_leave() -> None:
            target = Target(server)
            for _ in range(3):
                socket = await (await target.websocket()).greeted()
                socket.say(*subscribe)
                await asyncio.sleep(0.01)  # the answers have begun when it leaves
                socket.leave()
            await target.ask("{ __typename }")

        run(ask_and_leave())
        _, _, errors = server.stop()
    events = [json.loads(line)["event"] for line in errors.splitlines()]
    assert events == ["serving", "stopping", "stopped"]


@contextmanager
def lines_to_a_pipe() -> Iterator[tuple[LinesAside, int]]:
    """A handler, and where its lines can be read."""
    reading, writing = os.pipe()
    with (
        os.fdopen(reading, "rb") as behind,
        os.fdopen(writing, "w", encoding="ascii", errors="replace") as stream,
    ):
        handler = LinesAside(stream, logging.Formatter("%(message)s"))
        yield handler, behind.fileno()


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, __file__, 0, message, (), None)


def read_until(descriptor: int, end: bytes) -> bytes:
    text = b""
    while not text.endswith(end):
        text += os.read(descriptor, PIPE_BYTES)
    return text


def test_lines_that_find_no_room_are_lost_and_counted() -> None:
    line = "x" * 9_999
    fitting = (PIPE_BYTES + MOST_WAITING) // 10_000
    with lines_to_a_pipe() as (handler, descriptor):
        for _ in range(2 * fitting):
            handler.emit(record(line))
        assert not handler.finish(0.01)
        text, whole, lost = b"", 0, 0
        while whole + lost < 2 * fitting:
            text += os.read(descriptor, PIPE_BYTES)
            *told, _ = text.decode().split("\n")
            whole = told.count(line)
            losses = [each for each in told if each != line]
            lost = sum(int(each.partition(" log messages were lost")[0]) for each in losses)
        assert whole + lost == 2 * fitting
        # How many fit depends on how far the thread has come with the first of them.
        assert fitting - 10 <= lost <= fitting + 10
        assert handler.finish(10)


def test_a_loss_is_told_though_nothing_came_behind_it() -> None:
    long = "x" * (MOST_WAITING - 2)
    with lines_to_a_pipe() as (handler, descriptor):
        handler.emit(record(long))
        text = os.read(descriptor, 1)  # it is being written, and nothing else waits
        handler.emit(record("no room"))
        assert not handler.finish(0.01)
        text += read_until(descriptor, b"stderr\n")
        assert text.decode().split("\n") == [
            long,
            "1 log messages were lost: nobody took what was written to stderr",
            "",
        ]
        assert handler.finish(10)


def test_a_character_that_the_stream_cannot_carry_is_replaced() -> None:
    with lines_to_a_pipe() as (handler, descriptor):
        handler.emit(record("caf\N{LATIN SMALL LETTER E WITH ACUTE} \udc80"))
        handler.emit(record("end"))
        assert read_until(descriptor, b"end\n").splitlines() == [b"caf? ?", b"end"]
        assert handler.finish(10)


class Failing:
    def __del__(self) -> None:
        raise LookupError("cannot end")


def test_what_python_would_write_by_itself_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as behind, os.fdopen(writing, "w", encoding="utf-8") as stream:
        direct = logging.StreamHandler(stream)
        direct.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr(logging.getLogger(), "handlers", [direct])
        hook = sys.unraisablehook
        with lines_written_aside(), warnings.catch_warnings():
            warnings.simplefilter("always")
            Failing()
            warnings.warn("it is old", DeprecationWarning, stacklevel=1)
        assert sys.unraisablehook is hook
        told = os.read(behind.fileno(), PIPE_BYTES).decode()
    assert told.startswith("ERROR exception ignored (function)")
    assert "LookupError: cannot end" in told
    assert "DeprecationWarning: it is old" in told


def test_where_stderr_is_no_file_lines_are_written_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    direct = logging.StreamHandler(stream)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(logging.getLogger(), "handlers", [direct])
    with lines_written_aside():
        assert logging.getLogger().handlers == [direct]
