"""Texts that another process takes apart: what comes of them is what comes of them here."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from providers.processes import ComputingProcess
from providers.tantivy import analysing_apart
from providers.tantivy.analysed import NO_TEXT, UNREADABLE, all_analysed_of, analysed, receive, send
from providers.tantivy.analysing_apart import AnalysingApart
from providers.tantivy.analysing_process import serve
from providers.tantivy.index import TantivyIndex
from sessiongraph.event import SessionEvent
from sessiongraph.text import SEMANTIC_TYPES
from tests.contracts.search_index import asking, found, learn, says, texts, told
from tests.strategies import json_text, json_values

BEGINS_WITHIN_S = 60
_MANY_FILES = 1100
UNPARSED = SessionEvent(7, "user/message", 1000, b"{")

GIVEN_UP = "texts are analysed in this process for now: no other can be used"
TAKEN_UP = "texts are analysed in another process again"

Programs = Callable[[str], None]

events = st.builds(says, st.integers(0, 2**40), texts) | st.builds(
    SessionEvent,
    st.integers(0, 2**40),
    st.sampled_from([*sorted(SEMANTIC_TYPES), "turn/start", "\ud800"]),
    st.just(1000),
    json_values(3).map(json_text) | st.just(UNPARSED.payload),
)


@contextmanager
def apart(used_from: int = 1) -> Iterator[AnalysingApart]:
    """One that asks another process, and waits for it to begin."""
    analyse = AnalysingApart(used_from=used_from, begins_within_s=BEGINS_WITHIN_S)
    try:
        yield analyse
    finally:
        analyse.end()


def test_another_process_answers_what_this_one_would() -> None:
    with apart() as analyse:

        @given(st.lists(events, max_size=8))
        def are_alike(asked: list[SessionEvent]) -> None:
            assert analyse(asked) == [analysed(event) for event in asked]

        are_alike()


def test_much_is_asked_of_one_process_in_one_go() -> None:
    with apart() as analyse:
        long = [says(seq, f"重试 restoreFloor {seq} " * 2000) for seq in range(60)]
        assert analyse(long) == [analysed(event) for event in long]
        pid = analyse.pid
        assert pid is not None
        assert analyse([UNPARSED]) == [UNREADABLE]
        assert analyse.pid == pid


def test_little_is_analysed_here() -> None:
    with apart(used_from=10_000) as analyse:
        assert analyse([says(0, "little"), SessionEvent(1, "turn/start", 0, b"{}" * 9999)]) == [
            analysed(says(0, "little")),
            NO_TEXT,
        ]
        assert analyse.pid is None


def test_nobody_waits_for_a_process_that_begins() -> None:
    analyse = AnalysingApart(used_from=1)
    try:
        assert analyse([says(0, "at once")]) == [analysed(says(0, "at once"))]
        assert analyse.pid is not None
    finally:
        analyse.end()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Has another program run in the place of the one that analyses."""

    def runs(program: str) -> None:
        (tmp_path / "another_program.py").write_text(program)
        monkeypatch.setattr(analysing_apart, "_MODULE", "another_program")

    monkeypatch.syspath_prepend(tmp_path)
    return runs


def is_gone(pid: int) -> bool:
    """Whether nothing is left of a process, not even how it ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_process_that_was_killed_is_not_missed_and_another_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analysing_apart, "TRIED_AGAIN_S", 0)
    with apart() as analyse, capture_logs() as logged:
        asked = [says(0, "before"), says(1, "after")]
        assert analyse(asked[:1]) == [analysed(asked[0])]
        pid = analyse.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        for _ in range(2):
            assert analyse(asked) == [analysed(event) for event in asked]
        assert analyse.pid not in (None, pid)
    assert [line["event"] for line in logged] == [GIVEN_UP, TAKEN_UP]
    assert logged[0]["reason"] == "it ended with signal 9"


def test_a_process_is_asked_however_many_files_are_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < _MANY_FILES + 100:
        pytest.skip("so many files cannot be opened here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _MANY_FILES + 100), hard))
    with ExitStack() as files:
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(_MANY_FILES):
            files.enter_context(Path(os.devnull).open("rb"))
        analyse = files.enter_context(apart())
        assert analyse([says(0, "many")]) == [analysed(says(0, "many"))]
        assert analyse.pid is not None


def test_who_stops_does_not_wait_for_a_process_that_hangs() -> None:
    with apart() as analyse, capture_logs() as logged, ThreadPoolExecutor(1) as thread:
        asked = [says(0, "before"), says(1, "after")]
        assert analyse(asked[:1]) == [analysed(asked[0])]
        assert analyse.pid is not None
        os.kill(analyse.pid, signal.SIGSTOP)
        answer = thread.submit(analyse, asked)
        analyse.stop()
        assert answer.result(BEGINS_WITHIN_S) == [analysed(event) for event in asked]
    assert logged == []


def test_one_that_cannot_be_started_is_not_missed_nor_tried_again_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with apart() as analyse, capture_logs() as logged:
        with monkeypatch.context() as nowhere:
            nowhere.setattr(sys, "executable", "/nowhere/python")
            assert analyse([says(0, "here")]) == [analysed(says(0, "here"))]
        assert analyse([says(0, "here")]) == [analysed(says(0, "here"))]
        assert analyse.pid is None
    assert [line["event"] for line in logged] == [GIVEN_UP]


def test_one_that_cannot_be_started_is_tried_again_after_a_while_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analysing_apart, "TRIED_AGAIN_S", 0)
    asked = [says(0, "here")]
    with apart() as analyse, capture_logs() as logged:
        for _ in range(2):
            with monkeypatch.context() as nowhere:
                nowhere.setattr(sys, "executable", "/nowhere/python")
                assert analyse(asked) == analyse(asked) == [analysed(asked[0])]
            assert analyse(asked) == [analysed(asked[0])]
            assert analyse.pid is not None
            analyse.end()
    assert [line["event"] for line in logged] == 2 * [GIVEN_UP, TAKEN_UP]


def test_the_files_of_a_process_that_cannot_be_started_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = sorted(Path("/dev/fd").iterdir())
    with pytest.raises(OSError, match="nowhere"):
        ComputingProcess("providers.tantivy.analysing_process")
    assert sorted(Path("/dev/fd").iterdir()) == before


def test_one_that_cannot_run_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysing_apart, "_MODULE", "providers.tantivy.no_such_module")
    with apart() as analyse:
        assert analyse([says(0, "here")]) == [analysed(says(0, "here"))]
        assert analyse.pid is None


def test_what_is_printed_in_a_process_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('this machine is customised', flush=True)")
    monkeypatch.syspath_prepend(tmp_path)
    with apart() as analyse, capture_logs() as logged:
        assert analyse([says(0, "said")]) == [analysed(says(0, "said"))]
        assert analyse.pid is not None
    assert logged == []


IS_THERE = b"e\0\0\0\0\0\0\0\1\x90"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        (b"a line of text\n", "it begins with b'a line of'"),
        (b"x\0\0\0\0\0\0\0\0", "it is of the unknown kind b'x'"),
        (b"e\0\0\0\0\0\0\0\1\xc1", "malformed"),
        (IS_THERE + b"a line of text\n", "it begins with b'a line of'"),
        (IS_THERE + b"e\0\0\0\0\x40\0\0\1", "it begins with"),
        (IS_THERE + b"e\0\0\0\0\0\0\0\1\xc1", "malformed"),
        (IS_THERE + IS_THERE, "it tells of 0 events instead of 1"),
        (IS_THERE + b"e\0\0\0\0\0\0\0\4\x91\x92\xc0\xc0", "Expected `int`"),
    ],
)
def test_an_answer_that_is_none_is_told_once_and_its_process_ended(
    runs: Programs, answers: bytes, reason: str
) -> None:
    runs(
        "import os, sys\n"
        f"os.write(int(sys.argv[1]), {answers!r})\n"
        "sys.stdin.buffer.read()\n"
    )  # fmt: skip
    with apart() as analyse, capture_logs() as logged:
        for _ in range(2):
            assert analyse([says(0, "said")]) == [analysed(says(0, "said"))]
        assert analyse.pid is None
    (line,) = logged
    assert line["event"] == GIVEN_UP
    assert line["reason"].startswith("what it answers is no answer: ")
    assert reason in line["reason"]


def test_a_process_ends_with_its_input_and_in_the_middle_of_a_request() -> None:
    whole = BytesIO()
    send(whole, [(0, "user/message", b"{}")])
    for request in (b"", whole.getvalue()[:-1], whole.getvalue()):
        process = ComputingProcess("providers.tantivy.analysing_process")
        process.requests.write(request)
        process.requests.close()
        assert receive(process.answers) is not None
        answer = receive(process.answers)
        assert (answer is not None) is (request == whole.getvalue())
        assert answer is None or all_analysed_of(answer, 1) == [NO_TEXT]
        assert process.exit_code() == 0


def test_a_process_that_nobody_asks_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.tantivy.analysing_process.FIRST_ASKED_WITHIN_S", 0)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as requests, os.fdopen(writing, "wb"):
        serve(requests, BytesIO())


def test_a_process_waits_longer_for_its_first_request_than_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("providers.tantivy.analysing_process.IDLE_S", 0)
    pipes = [os.pipe(), os.pipe()]
    (requests, asking_end), (answering_end, answers) = pipes
    with (
        os.fdopen(requests, "rb") as theirs,
        os.fdopen(asking_end, "wb") as ours,
        os.fdopen(answering_end, "rb") as heard,
        os.fdopen(answers, "wb") as told_there,
        ThreadPoolExecutor(1) as thread,
    ):
        served = thread.submit(serve, theirs, told_there)
        assert receive(heard) is not None
        send(ours, [(0, "user/message", b"{}")])
        answer = receive(heard)
        assert answer is not None
        assert all_analysed_of(answer, 1) == [NO_TEXT]
        served.result(BEGINS_WITHIN_S)


def test_nothing_is_left_of_a_process_that_ended_by_itself_and_another_follows(
    runs: Programs,
) -> None:
    runs(
        "from providers.tantivy import analysing_process\n"
        "analysing_process.IDLE_S = 0\n"
        "analysing_process.main()\n"
    )
    with apart(used_from=100) as analyse, capture_logs() as logged:
        much, little = [says(0, "said " * 100)], [says(1, "little")]
        for _ in range(2):
            assert analyse(much) == [analysed(much[0])]
            pid = analyse.pid
            assert pid is not None
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            assert analyse(little) == [analysed(little[0])]
            assert is_gone(pid)
            assert analyse.pid is None
    assert logged == []


@pytest.mark.parametrize("words", [1, 1_000_000], ids=["that fits a pipe", "that does not"])
def test_nobody_waits_long_for_a_process_that_hangs(
    monkeypatch: pytest.MonkeyPatch, words: int
) -> None:
    asked = [says(0, "said " * words)]
    expected = [analysed(asked[0])]
    with apart() as analyse, capture_logs() as logged:
        assert analyse([says(1, "before")]) == [analysed(says(1, "before"))]
        pid = analyse.pid
        assert pid is not None
        monkeypatch.setattr(analysing_apart, "TRIED_AGAIN_S", 0)
        monkeypatch.setattr(analysing_apart, "ANSWERED_WITHIN_S", 0.2)
        monkeypatch.setattr(analysing_apart, "_SLOWEST_BYTES_S", 1 << 30)
        os.kill(pid, signal.SIGSTOP)
        assert analyse(asked) == expected
        assert is_gone(pid)
        assert [line["reason"] for line in logged] == ["it did not answer within 0.2 s"]
        monkeypatch.undo()
        assert analyse(asked) == expected
        assert analyse.pid is not None
    assert [line["event"] for line in logged] == [GIVEN_UP, TAKEN_UP]


def test_a_process_that_does_not_begin_is_told_and_ended(
    runs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs("import sys; sys.stdin.read()")
    monkeypatch.setattr(analysing_apart, "ANSWERED_WITHIN_S", 0)
    analyse = AnalysingApart(used_from=1)
    with capture_logs() as logged:
        assert analyse([says(0, "said")]) == [analysed(says(0, "said"))]
        assert analyse.pid is None
    assert [line["reason"] for line in logged] == ["it did not begin within 0 s"]


def test_an_index_whose_texts_another_process_takes_apart_answers_alike(tmp_path: Path) -> None:
    changes = [learn(f"s{n}", "重试失败 restoreFloor", f"only {n}", UNPARSED) for n in range(20)]
    questions = [asking("试失"), asking("floor"), asking("only"), asking("only 7")]

    async def answers(
        path: Path, analyse: AnalysingApart | None
    ) -> list[set[tuple[str, int, int]]]:
        index = TantivyIndex.open(path, 16 << 20, analyse)
        await told(changes, index)
        assert analyse is None or analyse.pid is not None
        answers = [await found(index.observe(), question) for question in questions]
        await index.close()
        assert analyse is None or analyse.pid is None
        return answers

    with apart() as analyse:
        theirs = asyncio.run(answers(tmp_path / "apart", analyse))
    assert theirs == asyncio.run(answers(tmp_path / "here", None))
    assert list(map(len, theirs)) == [20, 20, 20, 1]
