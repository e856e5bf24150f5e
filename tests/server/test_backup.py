"""``sessiongraph backup``, as its users run it, and what comes of a restore."""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import threading
from pathlib import Path

from tests.server.processes import RunningServer, run, serving

APPEND = """mutation ($id: ID!, $data: JSON!) {
    appendEvents(input: {sessionId: $id, events: [{type: "note/made", data: $data}]}) {
        session { lastSeq } } }"""


def restored(backup: Path, target: Path) -> Path:
    """The steps of docs/operations.md."""
    target.mkdir(mode=0o700)
    shutil.copyfile(backup, target / "log.db")
    media = backup.with_name(f"{backup.name}.media")
    if media.exists():
        shutil.copytree(media, target / "media")
    return target


def keep_media(data_dir: Path, content: bytes) -> str:
    name = hashlib.sha256(content).hexdigest()
    place = data_dir / "media" / name[:2] / name
    place.parent.mkdir(parents=True)
    place.write_bytes(content)
    return name


def test_a_backup_of_a_server_that_is_written_to_is_a_store_of_one_moment(
    tmp_path: Path, sample_store: Path
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(sample_store, data_dir)
    with serving(data_dir) as server:
        acknowledged, stop = [0], threading.Event()
        writing = threading.Thread(target=_append_until, args=(server, acknowledged, stop))
        writing.start()
        try:
            while acknowledged[0] < 5:
                stop.wait(0.01)
            before = acknowledged[0]
            done = run("backup", "--json", "--data-dir", data_dir, tmp_path / "b.db")
            after = acknowledged[0]
        finally:
            stop.set()
            writing.join()
    assert (done.returncode, done.stderr) == (0, "")
    made = json.loads(done.stdout)
    assert made["bytes"] == (tmp_path / "b.db").stat().st_size
    assert made["sessions"] == 17
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db", "data"]
    home = restored(tmp_path / "b.db", tmp_path / "restored")
    checked = run("check", "--json", "--data-dir", home)
    assert checked.returncode == 0, checked.stdout
    with serving(home) as server:
        answer = server.ask('{ session(id: "written") { lastSeq } server { events } }')
    assert before <= answer["data"]["session"]["lastSeq"] + 1 <= after + 1
    assert answer["data"]["server"]["events"] == made["events"]


def _append_until(server: RunningServer, acknowledged: list[int], stop: threading.Event) -> None:
    server.ask('mutation { createSession(input: {id: "written"}) { session { id } } }')
    while not stop.is_set():
        answer = server.ask(APPEND, id="written", data={"number": acknowledged[0]})
        assert "errors" not in answer
        acknowledged[0] += 1


def test_images_of_recordings_go_into_a_folder_beside_it(
    tmp_path: Path, sample_store: Path
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(sample_store, data_dir)
    name = keep_media(data_dir, b"a picture")
    unfinished = data_dir / "media" / name[:2] / f"{name}.0123456789abcdef"
    unfinished.write_bytes(b"a pic")
    done = run("backup", "--json", "--data-dir", data_dir, tmp_path / "b.db", umask=0o022)
    assert json.loads(done.stdout)["mediaFiles"] == 1
    beside = tmp_path / "b.db.media"
    for path in (tmp_path / "b.db", beside, *beside.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    home = restored(tmp_path / "b.db", tmp_path / "restored")
    assert (home / "media" / name[:2] / name).read_bytes() == b"a picture"
    assert len([path for path in home.rglob("*") if path.is_file()]) == 2
    assert not [path for path in tmp_path.iterdir() if "unfinished" in path.name]


def test_nothing_is_written_over(tmp_path: Path, sample_store: Path) -> None:
    target = tmp_path / "b.db"
    target.write_text("precious", "utf-8")
    done = run("backup", "--data-dir", sample_store, target)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sessiongraph: {target} exists already: nothing was written\n"
    assert target.read_text("utf-8") == "precious"
    (tmp_path / "c.db.media").mkdir()
    assert run("backup", "--data-dir", sample_store, tmp_path / "c.db").returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.db", "c.db.media"]


def test_a_backup_that_cannot_be_made_leaves_nothing(tmp_path: Path, sample_store: Path) -> None:
    done = run("backup", "--data-dir", sample_store, tmp_path / "missing" / "b.db")
    assert done.returncode == 1
    assert "cannot be written: No such file or directory" in done.stderr
    done = run("backup", "--data-dir", tmp_path / "empty", tmp_path / "b.db")
    assert done.returncode == 1
    assert "there is no store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_can_read_a_backup(tmp_path: Path, sample_store: Path) -> None:
    done = run("backup", "--data-dir", sample_store, tmp_path / "b.db")
    assert done.returncode == 0
    assert "16 sessions" in done.stdout
    assert (tmp_path / "b.db").stat().st_mode & 0o777 == 0o600
