"""An import that is killed at any moment can simply be run again.

Each case begins with the same store of a first import and the same folder, in which everything can
happen: a new session, growth with a compaction of old nodes, a rewritten file, a higher generation,
a file that is refused. A process imports the folder and is killed; then the store must be sound,
every session must be as before or as after, and a second run must end where an undisturbed one did.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from providers.sqlite.log_store import SqliteLogStore
from tests.plain_store import run
from tests.providers.recordings.dsh_writing import header_row, packed_row
from tests.providers.recordings.dsh_writing import write as write_file
from tests.providers.sqlite.imports import counted, prompts, replacing, said, take
from tests.providers.sqlite.raw import Rows, logical, settled, strays

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60


def before(folder: Path) -> None:
    write_file(folder / "grows.jsonl", [header_row(id="grows"), *prompts(50)])
    write_file(folder / "rewritten.jsonl", [header_row(id="rewritten"), *prompts(1_200)])
    (folder / "up").mkdir()
    write_file(folder / "up/session.jsonl", [header_row(id="up"), *prompts(10)])


def after(folder: Path) -> None:
    rows = [*prompts(1_500), packed_row(1_500, ["x"] * 700), said(2_200)]
    rows += [replacing(2_201, 5, 1_100, [[5, 1_100]]), *prompts(600, first=2_202)]
    write_file(folder / "grows.jsonl", [header_row(id="grows"), *rows])
    write_file(folder / "new.jsonl.zstd", [header_row(id="new"), *rows])
    write_file(folder / "rewritten.jsonl", [header_row(id="rewritten"), *prompts(1_100, first=0)])
    write_file(folder / "up/session.v3.jsonl", [header_row(3, id="up"), *prompts(30)])
    wrong = replacing(1_200, 5_000, 5_000, [0])
    write_file(folder / "wrong.jsonl", [header_row(id="wrong"), *prompts(1_200), wrong])


@dataclass
class Scene:
    """The folder, the store of the first import, and what an undisturbed second one does.

    lines: of progress. statements: of the writing connection; commits: which of them commit.
    """

    folder: Path
    store: Path
    before: dict[str, Rows]
    after: dict[str, Rows]
    lines: int
    statements: int
    commits: list[int]


async def imported(path: Path, folder: Path) -> dict[str, Rows]:
    """What a store holds once everything is imported and swept."""
    store = SqliteLogStore.open(path)
    try:
        counted(await take(store, folder))
        await settled(store)
        assert await store.check() == []
    finally:
        await store.close()
    assert strays(path) == {}
    return logical(path)


def process(path: Path, folder: Path, dies_at: int = 0) -> subprocess.Popen[str]:
    module = "tests.providers.sqlite.import_process"
    return subprocess.Popen(
        [sys.executable, "-m", module, str(path), str(folder), str(dies_at)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("folder")
    store = tmp_path_factory.mktemp("before") / "log.db"
    before(folder)
    first = run(imported(store, folder))
    after(folder)
    clean = shutil.copy(store, tmp_path_factory.mktemp("clean") / "log.db")
    watched = shutil.copy(store, tmp_path_factory.mktemp("watched") / "log.db")
    last = run(imported(clean, folder))
    with process(watched, folder) as whole:
        out, _ = whole.communicate(timeout=TIMEOUT_S)
    *lines, end = out.splitlines()
    statements, *commits = map(int, end.split())
    return Scene(folder, store, first, last, len(lines), statements, commits)


def kill_after_line(number: int) -> Callable[[Path, Path], None]:
    def kill(path: Path, folder: Path) -> None:
        with process(path, folder) as running:
            assert running.stdout is not None
            for _ in range(number):
                assert running.stdout.readline()
            running.kill()

    return kill


def die_at_statement(number: int) -> Callable[[Path, Path], None]:
    def kill(path: Path, folder: Path) -> None:
        with process(path, folder, number) as running:
            running.communicate(timeout=TIMEOUT_S)
        # A few statements come and go with how writes meet; the last may never be reached.
        assert running.returncode in (-signal.SIGKILL, 0)

    return kill


def by_session(content: dict[str, Rows]) -> dict[bytes, dict[str, Rows]]:
    """The rows of each session."""
    tables = ("logs", "events", "citers", "citations")
    return {
        each[0]: {name: [row for row in content[name] if row[0] == each[0]] for name in tables}
        for each in content["logs"]
    }


async def assert_sound(scene: Scene, path: Path) -> None:
    """The store opens, holds every session as before or as after, and is swept in the end."""
    store = SqliteLogStore.open(path)
    try:
        assert await store.check() == []
        first, last = by_session(scene.before), by_session(scene.after)
        seen = by_session(logical(path))
        for session_id in first.keys() | last.keys() | seen.keys():
            allowed = (first.get(session_id), last.get(session_id))
            assert seen.get(session_id) in allowed, session_id
        await settled(store)
    finally:
        await store.close()
    assert strays(path) == {}


def assert_killing_is_harmless(
    scene: Scene, path: Path, kill: Callable[[Path, Path], None]
) -> None:
    shutil.copy(scene.store, path)
    kill(path, scene.folder)
    asyncio.run(assert_sound(scene, path))
    assert asyncio.run(imported(path, scene.folder)) == scene.after


@pytest.mark.parametrize("seed", range(6))
def test_an_import_killed_after_any_line_of_progress_can_be_run_again(
    scene: Scene, tmp_path: Path, seed: int
) -> None:
    line = random.Random(seed).randrange(scene.lines)
    assert_killing_is_harmless(scene, tmp_path / "log.db", kill_after_line(line))


@pytest.mark.parametrize("seed", range(4))
def test_an_import_killed_at_any_statement_can_be_run_again(
    scene: Scene, tmp_path: Path, seed: int
) -> None:
    statement = random.Random(seed).randrange(1, scene.statements)
    assert_killing_is_harmless(scene, tmp_path / "log.db", die_at_statement(statement))


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("seed", range(3))
def test_an_import_killed_just_before_or_after_a_commit_can_be_run_again(
    scene: Scene, tmp_path: Path, seed: int, late: int
) -> None:
    statement = random.Random(seed).choice(scene.commits[:-1]) + late
    assert_killing_is_harmless(scene, tmp_path / "log.db", die_at_statement(statement))


def test_an_import_killed_again_and_again_comes_to_its_end(scene: Scene, tmp_path: Path) -> None:
    path = Path(shutil.copy(scene.store, tmp_path / "log.db"))
    for part in (0.1, 0.3, 0.5):
        die_at_statement(int(scene.statements * part))(path, scene.folder)
    assert asyncio.run(imported(path, scene.folder)) == scene.after


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_very_many_kills(scene: Scene, tmp_path: Path) -> None:
    chance = random.Random(1)
    for number in range(300):
        kills = [
            kill_after_line(chance.randrange(scene.lines)),
            die_at_statement(chance.randrange(1, scene.statements)),
            die_at_statement(chance.choice(scene.commits[:-1]) + chance.randrange(-15, 2)),
        ]
        assert_killing_is_harmless(scene, tmp_path / f"{number}.db", chance.choice(kills))
