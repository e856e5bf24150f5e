"""Texts that another process takes apart: what comes of them is what comes of them here."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

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


def test_a_process_that_was_killed_is_not_missed() -> None:
    with apart() as analyse:
        asked = [says(0, "before"), says(1, "after")]
        assert analyse(asked[:1]) == [analysed(asked[0])]
        assert analyse.pid is not None
        os.kill(analyse.pid, signal.SIGKILL)
        assert analyse(asked) == [analysed(event) for event in asked]
        assert analyse.pid is None
        assert analyse(asked) == [analysed(event) for event in asked]


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


def test_one_that_cannot_be_started_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with apart() as analyse, capture_logs() as logged:
        assert analyse([says(0, "here")]) == [analysed(says(0, "here"))]
    assert [line["event"] for line in logged] == [
        "texts are analysed in this process: no other can be used"
    ]


def test_one_that_cannot_run_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysing_apart, "_MODULE", "providers.tantivy.no_such_module")
    with apart() as analyse:
        assert analyse([says(0, "here")]) == [analysed(says(0, "here"))]
        assert analyse.pid is None


def test_a_process_with_nothing_to_do_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with apart() as analyse:
        analyse([says(0, "first")])
        first = analyse.pid
        monkeypatch.setattr(analysing_apart, "KEPT_S", 0)
        assert analyse([says(0, "second")]) == [analysed(says(0, "second"))]
        assert analyse.pid not in (None, first)


def test_a_process_ends_with_its_input_and_in_the_middle_of_a_request() -> None:
    whole = BytesIO()
    send(whole, [(0, "user/message", b"{}")])
    command = [sys.executable, "-m", "providers.tantivy.analysing_process"]
    for request in (b"", whole.getvalue()[:-1], whole.getvalue()):
        done = subprocess.run(command, input=request, capture_output=True, check=True)
        answers = BytesIO(done.stdout)
        assert receive(answers) is not None
        answer = receive(answers)
        is_whole = request == whole.getvalue()
        assert (answer is not None) is is_whole
        assert answer is None or all_analysed_of(answer) == [NO_TEXT]


def test_a_process_that_nobody_asks_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.tantivy.analysing_process.IDLE_S", 0)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as requests, os.fdopen(writing, "wb"):
        serve(requests, BytesIO())


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
