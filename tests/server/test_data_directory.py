from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.data_directory import DataDirectory, DirectoryInUse
from sessiongraph.errors import InvalidConfig
from tests.server.processes import ROOT, clean_environment

HOLDER = """
import sys
from pathlib import Path
from server.data_directory import DataDirectory
with DataDirectory(Path(sys.argv[1])).hold("serve") as lock:
    lock.announce("serve", "http://127.0.0.1:4711")
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_by_another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        env=clean_environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.communicate(timeout=30)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "above" / "data"
    with DataDirectory(path).hold("serve"):
        assert mode_of(path) == 0o700
        assert mode_of(path / "server.lock") == 0o600


def test_what_a_holder_creates_is_for_the_owner_alone_even_in_an_open_directory(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    outer = os.umask(0o022)
    try:
        with DataDirectory(tmp_path).hold("serve"):
            (tmp_path / "inside").write_text("")
        (tmp_path / "after").write_text("")
    finally:
        os.umask(outer)
    assert mode_of(tmp_path / "inside") == 0o600
    assert mode_of(tmp_path / "after") == 0o644


def test_a_second_holder_is_refused_with_pid_and_address_of_the_first(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as first:
        with pytest.raises(DirectoryInUse) as refusal, DataDirectory(tmp_path).hold("import"):
            pass
        assert str(refusal.value) == (
            f"the data directory {tmp_path} is in use by `sessiongraph serve` "
            f"at http://127.0.0.1:4711 (pid {first.pid})"
        )


def test_a_refused_holder_leaves_the_words_of_the_first_alone(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path):
        words = (tmp_path / "server.lock").read_text()
        with pytest.raises(DirectoryInUse), DataDirectory(tmp_path).hold("import"):
            pass
        assert (tmp_path / "server.lock").read_text() == words


def test_a_holder_that_has_not_said_who_it_is_is_still_a_holder(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path):
        (tmp_path / "server.lock").write_text("")
        with (
            pytest.raises(DirectoryInUse, match="another process that is just starting"),
            DataDirectory(tmp_path).hold("import"),
        ):
            pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_goes_with_the_process_however_it_ends(
    tmp_path: Path, number: signal.Signals
) -> None:
    with held_by_another_process(tmp_path) as first:
        first.send_signal(number)
        first.wait(timeout=30)
    with DataDirectory(tmp_path).hold("import"):
        pass


def test_the_lock_can_be_had_again_after_it_was_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with DataDirectory(tmp_path).hold("serve"):
            pass
    assert (tmp_path / "server.lock").read_text() == ""


def test_the_cursor_key_is_made_once_and_kept(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    key = directory.cursor_key()
    assert len(key) == 32
    assert directory.cursor_key() == key == (tmp_path / "cursor.key").read_bytes()
    assert mode_of(tmp_path / "cursor.key") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["cursor.key"]


def test_two_directories_have_different_cursor_keys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert DataDirectory(tmp_path / "a").cursor_key() != DataDirectory(tmp_path / "b").cursor_key()


def test_a_file_that_is_no_key_is_refused_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "cursor.key").write_bytes(b"short")
    with pytest.raises(InvalidConfig, match="must hold 32 bytes, not 5"):
        DataDirectory(tmp_path).cursor_key()
    assert (tmp_path / "cursor.key").read_bytes() == b"short"
