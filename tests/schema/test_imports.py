"""Importing over the API: begun at once, followed until it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.providers.recordings import dsh_writing as dsh
from tests.providers.sqlite.imports import prompts
from tests.schema.living import Server, in_server

REPORT = "{ id files imported resumed unchanged events bytes done refused { path line reason } }"
IMPORT = f"mutation($input: ImportInput!) {{ importRecordings(input: $input) {REPORT} }}"
PROGRESS = f"subscription($id: ID!) {{ importProgress(id: $id) {REPORT} }}"


async def imported(server: Server, **given: Any) -> list[dict[str, Any]]:
    """Every frame of an import, from its beginning to its end."""
    begun = (await server.ask(IMPORT, input=given)).data["importRecordings"]
    assert (begun["files"], begun["done"]) == (0, False)
    stream = await server.follow(PROGRESS, id=begun["id"])
    frames = [frame.data["importProgress"] for frame in await stream.rest()]
    assert [frame["done"] for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert {frame["id"] for frame in frames} == {begun["id"]}
    return frames


def log(path: Path, session_id: str, count: int = 3) -> str:
    dsh.write(path, [dsh.header_row(id=session_id), *prompts(count)])
    return str(path)


@in_server()
async def test_an_import_is_followed_to_its_end(server: Server) -> None:
    paths = [log(server.path / f"{name}.jsonl", name) for name in "ab"]
    bad = server.path / "bad.jsonl"
    bad.write_bytes(b"nothing\n")
    last = (await imported(server, paths=[*paths, str(bad)]))[-1]
    assert (last["files"], last["imported"], last["events"]) == (3, 2, 6)
    assert last["bytes"] > 0
    refused = {"path": str(bad), "line": 1, "reason": "no reader knows this format"}
    assert last["refused"] == [refused]
    assert (await server.session("a"))["lastSeq"] == 2
    again = (await imported(server, paths=paths))[-1]
    assert (again["imported"], again["unchanged"]) == (0, 2)


@in_server()
async def test_one_that_is_done_can_still_be_followed(server: Server) -> None:
    (*_, last) = await imported(server, paths=[log(server.path / "a.jsonl", "a")])
    stream = await server.follow(PROGRESS, id=last["id"])
    (frame,) = [frame.data["importProgress"] for frame in await stream.rest()]
    assert frame == last


@in_server()
async def test_a_trial_stores_nothing(server: Server) -> None:
    path = log(server.path / "a.jsonl", "a")
    assert (await imported(server, paths=[path], dryRun=True))[-1]["imported"] == 1
    assert await server.session("a") is None


@in_server()
async def test_a_deleted_session_comes_back_only_when_that_is_asked_for(server: Server) -> None:
    path = log(server.path / "a.jsonl", "a")
    await imported(server, paths=[path])
    await server.ask('mutation { deleteSession(id: "a") { deletedId } }')
    assert len((await imported(server, paths=[path]))[-1]["refused"]) == 1
    assert (await imported(server, paths=[path], restoreDeleted=True))[-1]["imported"] == 1


@in_server()
@pytest.mark.parametrize("paths", [[], ["relative/log.jsonl"], ["/a", ""]])
async def test_paths_that_name_nothing_are_refused(server: Server, paths: list[str]) -> None:
    answer = await server.ask(IMPORT, input={"paths": paths})
    assert answer.codes == ["BAD_USER_INPUT"]


@in_server()
async def test_an_import_that_nobody_began_cannot_be_followed(server: Server) -> None:
    stream = await server.follow(PROGRESS, id="nobody")
    assert (await stream.next()).codes == ["BAD_USER_INPUT"]


@in_server()
async def test_an_import_is_given_up_when_the_server_stops(server: Server) -> None:
    path = log(server.path / "a.jsonl", "a", 20_000)
    begun = (await server.ask(IMPORT, input={"paths": [path]})).data["importRecordings"]
    stream = await server.follow(PROGRESS, id=begun["id"])
    await stream.next()
    await server.stop()
    assert len(await stream.rest()) <= 2
