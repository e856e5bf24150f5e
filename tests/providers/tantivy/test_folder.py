"""Whatever lies in the folder: our index, an old one, a torn one, or somebody else's files."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from providers.tantivy.analysed import Analysed
from providers.tantivy.analysing_apart import AnalysingApart
from providers.tantivy.checksums import damaged_files
from providers.tantivy.documents import tokens_of
from providers.tantivy.index import TantivyIndex
from sessiongraph.errors import IndexFailed, InvalidConfig
from sessiongraph.event import SessionEvent
from sessiongraph.search.ports import Forget, Watermark
from tests.contracts.search_index import asking, found, learn, told
from tests.plain_store import run

BYTES = 16 << 20


async def write(path: Path, *words: str) -> None:
    index = TantivyIndex.open(path, BYTES)
    for position, word in enumerate(words, 1):
        await told([learn(f"s{position}", word)], index, position=position)
    await index.close()


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(path)): each.read_bytes()
        for each in sorted(path.rglob("*"))
        if each.is_file()
    }


def test_the_text_of_a_document_is_places_then_pairs_then_parts() -> None:
    tokens = tokens_of("重试失 restoreFloor 缓").split(" ")
    assert [token for token in tokens if token] == [
        *("重", "试", "失", "restorefloor", "缓"),
        *("\x1f", "重试", "试失"),
        *("\x1f", "restore", "floor"),
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": b"mine"},
        {"stamp.json": b"{}"},
        {"stamp.json": b'{"product":"another"}'},
        {"stamp.json": b"\xff", "segments/meta.json": b"{}"},
        {"segments/meta.json": b"{}"},
    ],
)
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    path = tmp_path / "index"
    for name, octets in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(octets)
    before = contents(path)
    with pytest.raises(InvalidConfig, match="left alone"):
        TantivyIndex.open(path, BYTES)
    with pytest.raises(InvalidConfig, match="left alone"):
        TantivyIndex.open_for_reading(path)
    assert contents(path) == before


@pytest.mark.parametrize("stamp", [None, b"", b'{"product":"sessiong', b"[]", b"null", b"{}"])
def test_an_index_that_lost_its_stamp_is_set_aside_and_begins_empty(
    tmp_path: Path, stamp: bytes | None
) -> None:
    path = tmp_path / "index"
    run(write(path, "word"))
    before, whole = contents(path / "segments"), (path / "stamp.json").read_bytes()
    (path / "stamp.json").unlink()
    if stamp is not None:
        (path / "stamp.json").write_bytes(stamp)
    with pytest.raises(IndexFailed):
        TantivyIndex.open_for_reading(path)

    async def check() -> None:
        index = TantivyIndex.open(path, BYTES)
        assert index.watermark is None
        await index.close()

    run(check())
    assert contents(path / "aside") == before
    assert (path / "stamp.json").read_bytes() == whole


@pytest.mark.parametrize("name", ["notes.txt", "segments.old"])
def test_an_index_without_a_stamp_beside_other_files_is_left_alone(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "index"
    run(write(path, "word"))
    (path / "stamp.json").unlink()
    (path / name).write_bytes(b"mine")
    before = contents(path)
    with pytest.raises(InvalidConfig, match="left alone"):
        TantivyIndex.open(path, BYTES)
    assert contents(path) == before


def test_a_file_in_the_place_of_the_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"mine")
    with pytest.raises(InvalidConfig, match="left alone"):
        TantivyIndex.open(path, BYTES)
    assert path.read_bytes() == b"mine"


def test_a_folder_whose_making_was_cut_off_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.mkdir()
    (path / "stamp.json.new").write_bytes(b'{"prod')
    run(write(path, "word"))
    assert TantivyIndex.open_for_reading(path).watermark == Watermark(1)


def test_an_index_of_other_rules_is_set_aside_and_begins_empty(tmp_path: Path) -> None:
    path = tmp_path / "index"
    run(write(path, "word"))
    before = contents(path / "segments")
    stamp = json.loads((path / "stamp.json").read_text("utf-8"))
    (path / "stamp.json").write_text(json.dumps({**stamp, "analysis": "0"}), "utf-8")
    with pytest.raises(IndexFailed):
        TantivyIndex.open_for_reading(path)

    async def check() -> None:
        index = TantivyIndex.open(path, BYTES)
        assert index.watermark is None
        assert await found(index.observe(), asking("word")) == set()
        await index.close()

    run(check())
    assert contents(path / "aside") == before
    assert json.loads((path / "stamp.json").read_text("utf-8")) == stamp


def test_every_torn_file_is_found_out_and_the_index_begins_anew(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    run(write(whole, "alpha", "beta word", "word", "delta"))
    names = [each.name for each in (whole / "segments").iterdir() if each.suffix != ".lock"]
    assert len(names) > 5
    for name in names:
        for torn in ("gone", "empty", "half"):
            path = tmp_path / f"{torn}-{name}"
            shutil.copytree(whole, path)
            file = path / "segments" / name
            if torn == "gone":
                file.unlink()
            else:
                octets = file.read_bytes()
                file.write_bytes(octets[: len(octets) // 2] if torn == "half" else b"")

            async def check(path: Path) -> None:
                index = TantivyIndex.open(path, BYTES)
                try:
                    if index.watermark is None:
                        await told([learn("s2", "beta word"), learn("s3", "word")], index)
                    expected = {("s2", 1, 0), ("s3", 1, 0)}
                    assert await found(index.observe(), asking("word")) == expected
                finally:
                    await index.close()

            run(check(path))


async def write_and_forget(path: Path) -> None:
    index = TantivyIndex.open(path, BYTES)
    await told([learn("a", "word alpha"), learn("b", "word beta")], index)
    await told([Forget("a"), learn("c", "other gamma")], index, position=2)
    await index.close()


def segment_files(path: Path) -> list[Path]:
    return sorted(
        file for file in (path / "segments").iterdir() if file.suffix not in (".lock", ".json")
    )


def test_octets_that_were_changed_in_place_are_found_out(tmp_path: Path) -> None:
    path = tmp_path / "index"
    run(write_and_forget(path))
    files = segment_files(path)
    assert any(file.suffix == ".del" for file in files)
    assert list(damaged_files(path / "segments")) == []
    for file in files:
        octets = file.read_bytes()
        contents_end = octets.rindex(b'{"version"')
        for at in (0, contents_end // 2, contents_end - 1, len(octets) - 9, len(octets) - 1):
            file.write_bytes(octets[:at] + bytes([octets[at] ^ 0x20]) + octets[at + 1 :])
            (damage,) = damaged_files(path / "segments")
            assert damage.startswith(f"{file.name} ")
        for cut in (b"", octets[:5], octets[:-1]):
            file.write_bytes(cut)
            assert len(list(damaged_files(path / "segments"))) == 1
        file.write_bytes(octets)
    assert list(damaged_files(path / "segments")) == []


def test_files_that_are_of_no_segment_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "index"
    run(write_and_forget(path))
    (deleted,) = (file for file in segment_files(path) if file.suffix == ".del")
    name = deleted.name.partition(".")[0]
    (path / "segments" / f"{name}.99.del").write_bytes(b"half written")
    (path / "segments" / f"{'0' * 32}.term").write_bytes(b"of nobody")
    assert list(damaged_files(path / "segments")) == []


def test_an_index_with_a_garbled_file_is_set_aside_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "index"
    run(write(path, "word"))
    (file,) = (file for file in segment_files(path) if file.suffix == ".idx")
    octets = file.read_bytes()
    file.write_bytes(bytes([octets[0] ^ 0x20]) + octets[1:])

    async def check() -> None:
        reader = TantivyIndex.open_for_reading(path)
        assert await reader.damages() == [f"{file.name} is not as it was written"]
        await reader.close()
        index = TantivyIndex.open(path, BYTES)
        assert index.watermark is None
        await index.close()

    run(check())
    assert (path / "aside" / file.name).exists()


def test_a_large_index_is_compared_when_a_search_could_not_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.tantivy.index._COMPARED_AT_OPENING", 0)
    path = tmp_path / "index"
    run(write(path, "word"))
    (file,) = (file for file in segment_files(path) if file.suffix == ".idx")
    octets = file.read_bytes()
    file.write_bytes(bytes([octets[0] ^ 0x20]) + octets[1:])

    async def check() -> None:
        index = TantivyIndex.open(path, BYTES)
        assert index.watermark == Watermark(1)
        await index.recover()
        assert index.watermark is None
        await index.close()

    run(check())


def test_writing_beside_a_writer_is_refused_and_hurts_nobody(tmp_path: Path) -> None:
    path = tmp_path / "index"

    async def check() -> None:
        index = TantivyIndex.open(path, BYTES)
        await told([learn("a", "word")], index)
        reader = TantivyIndex.open_for_reading(path)
        assert await found(reader.observe(), asking("word")) == {("a", 1, 0)}
        await told([learn("b", "word")], index, position=2)
        assert reader.watermark == Watermark(1)
        with pytest.raises(IndexFailed):
            await reader.apply([learn("c", "word")])
        later = TantivyIndex.open_for_reading(path)
        assert later.watermark == Watermark(2)
        assert await found(later.observe(), asking("word")) == {("a", 1, 0), ("b", 1, 0)}
        await later.close()
        await reader.close()
        await index.close()

    run(check())


def test_a_commit_whose_caller_has_left_is_done_before_the_index_is_closed(tmp_path: Path) -> None:
    """As when a server stops: the task that commits is cancelled, and the index is closed."""
    complaints: list[dict[str, Any]] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        index = TantivyIndex.open(tmp_path / "index", BYTES)
        await index.apply([learn("s", "harbor")])
        release = threading.Event()
        busy = asyncio.ensure_future(index._in(index._slow_thread, lambda: release.wait(10)))
        committing = asyncio.ensure_future(index.commit(Watermark(1)))
        await asyncio.sleep(0)
        committing.cancel()
        closing = asyncio.ensure_future(index.close())
        await asyncio.sleep(0.05)
        release.set()
        await closing
        assert await busy
        assert committing.cancelled()
        again = TantivyIndex.open(tmp_path / "index", BYTES)
        assert (again.watermark, again.documents) == (Watermark(1), 1)
        await again.close()

    run(scenario())
    gc.collect()
    assert complaints == []


def test_a_failure_while_writing_costs_what_was_not_committed_and_nothing_else(
    tmp_path: Path,
) -> None:
    class Failing(AnalysingApart):
        def __call__(self, events: Sequence[SessionEvent]) -> list[Analysed]:
            raise ValueError("it cannot be done")

    async def check() -> None:
        await write(tmp_path / "index", "apple")
        index = TantivyIndex.open(tmp_path / "index", BYTES, Failing(0))
        with pytest.raises(IndexFailed, match="it cannot be done") as failure:
            await index.apply([learn("s2", "pear")])
        await index.recover()
        assert failure.value.__cause__ is not None
        assert await found(index.observe(), asking("apple")) == {("s1", 1, 0)}
        assert not (tmp_path / "index" / "aside").exists()
        await index.close()

    run(check())


def test_an_index_that_somebody_else_writes_stays_where_it_is(tmp_path: Path) -> None:
    async def check() -> None:
        first = TantivyIndex.open(tmp_path / "index", 16 << 20)
        await first.apply([learn("a", "one word")])
        await first.commit(Watermark(1))
        with pytest.raises(IndexFailed, match="opened"):
            TantivyIndex.open(tmp_path / "index", 16 << 20)
        assert not (tmp_path / "index" / "aside").exists()
        await first.apply([learn("b", "another word")])
        await first.commit(Watermark(2))
        await first.close()
        again = TantivyIndex.open(tmp_path / "index", 16 << 20)
        assert (again.watermark, again.documents) == (Watermark(2), 2)
        await again.close()

    run(check())
