"""Search as its users run it: a server, the commands beside it, and both over the same folder."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pytest

from tests.server.processes import run, serving

SEARCH = """query($words: String!) { searchSessions(query: $words) {
    nodes { session { id } bestMatch { seq } } } }"""
CREATE = 'mutation { createSession(input: { id: "live" }) { session { id } } }'


def append(text: str) -> str:
    content = f'[{{ type: "text", text: "{text}" }}]'
    data = f'{{ id: "m", role: "user", source: {{ kind: "user" }}, content: {content} }}'
    return f"""mutation {{ appendEvents(input: {{ sessionId: "live", durability: ACCEPTED,
        events: [{{ type: "user/message", data: {data} }}] }}) {{ events {{ seq }} }} }}"""


@pytest.fixture
def data_dir(sample_store: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_store, tmp_path / "data"))


def test_a_search_brings_the_index_up_and_prints_where_it_was_said(data_dir: Path) -> None:
    done = run("search", "--data-dir", data_dir, "连接池")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("harbor-zh-pool  ")
    assert "连接池" in lines[2]
    assert (data_dir / "index").is_dir()
    found = run("search", "--data-dir", data_dir, "--json", "--limit", "2", "idempotency key")
    answer = json.loads(found.stdout)
    assert len(answer["hits"]) == 2
    assert answer["hasMore"] is True
    hit = answer["hits"][0]
    words = {hit["snippet"][start:end].lower() for start, end in hit["highlights"]}
    assert words == {"idempotency", "key"}


def test_options_narrow_what_is_found(data_dir: Path) -> None:
    def ids(*options: str) -> list[str]:
        done = run("search", "--data-dir", data_dir, "--json", "idempotency", *options)
        assert done.returncode == 0, done.stderr
        return [hit["sessionId"] for hit in json.loads(done.stdout)["hits"]]

    everywhere = ids("--since", "2020-01-01T00:00", "--cwd", "/home/mei/harbor")
    assert len(everywhere) > 3
    assert ids("--since", "2100-01-01") == []
    calls = ids("--mode", "phrase", "--type", "tool/call", "--surface", "log-only")
    assert set() < set(calls) < set(everywhere)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("***", "a query needs a letter, a digit or a symbol that can be found"),
        ("x" * 20_000, "a query has at most 16384 characters, not 20000"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused_in_one_line(
    data_dir: Path, query: str, line: str
) -> None:
    done = run("search", "--data-dir", data_dir, query)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sessiongraph: {line} (SESSION_QUERY_INVALID_QUERY)\n"


def test_nothing_found_is_said_and_is_no_failure(data_dir: Path) -> None:
    done = run("search", "--data-dir", data_dir, "zyzzyva")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing was found\n")


def test_without_a_store_there_is_nothing_to_search(tmp_path: Path) -> None:
    for command in (["search", "x"], ["reindex"]):
        done = run(*command, "--data-dir", tmp_path / "none")
        assert (done.returncode, done.stdout) == (1, "")
        assert "import something first" in done.stderr


def test_a_new_index_answers_as_the_old_one(data_dir: Path) -> None:
    before = run("search", "--data-dir", data_dir, "--json", "retry").stdout
    done = run("reindex", "--data-dir", data_dir)
    assert (done.returncode, done.stderr) == (0, "")
    assert "documents indexed in" in done.stdout
    assert run("search", "--data-dir", data_dir, "--json", "retry").stdout == before
    told = json.loads(run("reindex", "--data-dir", data_dir, "--json").stdout)
    assert told["documents"] > 100


def test_a_server_and_a_command_beside_it_find_what_was_just_written(data_dir: Path) -> None:
    with serving(data_dir) as server:
        server.ask(CREATE)
        for number in range(3):
            server.ask(append(f"needle{number} in the hay"))
            nodes = server.ask(SEARCH, words=f"needle{number}")["data"]["searchSessions"]["nodes"]
            assert nodes == [{"session": {"id": "live"}, "bestMatch": {"seq": number}}]
        server.ask(append("needle9"))
        server.ask('mutation { flushSession(id: "live") { session { id } } }')
        found = run("search", "--data-dir", data_dir, "--json", "needle9")
        assert [hit["seq"] for hit in json.loads(found.stdout)["hits"]] == [3]
        refused = run("reindex", "--data-dir", data_dir)
        assert refused.returncode == 1
        assert "is in use by `sessiongraph serve` at http://" in refused.stderr
        _, _, ready = server.request("GET", "/readyz")
        assert json.loads(ready)["ready"] is True


def test_a_command_beside_a_server_that_is_written_to_all_the_time_finds_what_was_there(
    data_dir: Path,
) -> None:
    with serving(data_dir) as server:
        server.ask(CREATE)
        server.ask(append("a heron on the quay"))
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                server.ask(append("another boat"))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                done = run("search", "--data-dir", data_dir, "--json", "heron")
                assert done.returncode == 0, done.stderr
                assert [hit["sessionId"] for hit in json.loads(done.stdout)["hits"]] == ["live"]
        finally:
            stop.set()
            writer.join()


def test_turned_off_no_index_is_made_and_everything_else_works(data_dir: Path) -> None:
    with serving(data_dir, "--search", "off") as server:
        answer = server.ask(SEARCH, words="retry")
        assert answer["errors"][0]["extensions"]["code"] == "SESSION_QUERY_SEARCH_DISABLED"
        facts = server.ask("{ server { searchEnabled indexLag sessions } }")["data"]["server"]
        assert (facts["searchEnabled"], facts["indexLag"]) == (False, None)
        _, _, ready = server.request("GET", "/readyz")
        assert "indexLag" not in json.loads(ready)
        late = {"SESSIONGRAPH_SEARCH_WAIT_MS": "100"}
        beside = run("search", "--data-dir", data_dir, "retry", environment=late)
        assert beside.returncode == 1
        assert "the full-text index cannot be used yet" in beside.stderr
    assert not (data_dir / "index").exists()
    off = run("search", "--data-dir", data_dir, "retry", environment={"SESSIONGRAPH_SEARCH": "off"})
    assert off.returncode == 1
    assert "SESSION_QUERY_SEARCH_DISABLED" in off.stderr


def test_a_torn_index_is_set_aside_and_built_anew_while_exact_reads_work(data_dir: Path) -> None:
    assert run("reindex", "--data-dir", data_dir).returncode == 0
    (data_dir / "index" / "segments" / "meta.json").write_bytes(b"{")
    with serving(data_dir) as server:
        assert server.ask("{ server { sessions } }")["data"]["server"]["sessions"] == 16
        nodes = server.ask(SEARCH, words="连接池")["data"]["searchSessions"]["nodes"]
        assert [node["session"]["id"] for node in nodes] == ["harbor-zh-pool"]
    assert (data_dir / "index" / "aside" / "meta.json").read_bytes() == b"{"


def test_a_server_whose_index_cannot_be_written_is_not_ready_until_it_can(data_dir: Path) -> None:
    index, moved = data_dir / "index", data_dir / "moved"
    brief = {"SESSIONGRAPH_SEARCH_COMMIT_MS": "10", "SESSIONGRAPH_SEARCH_WAIT_MS": "500"}

    def code(words: str) -> str | None:
        errors = server.ask(SEARCH, words=words).get("errors")
        return None if errors is None else str(errors[0]["extensions"]["code"])

    with serving(data_dir, environment=brief) as server:
        server.ask(CREATE)
        assert code("harbor") is None
        index.rename(moved)
        index.write_text("in the way", "utf-8")
        server.ask(append("a heron"))
        while code("heron") is None:
            server.ask(append("another heron"))
        status, _, body = server.request("GET", "/readyz")
        told = json.loads(body)
        assert (status, told["ready"]) == (503, False)
        assert str(data_dir) not in body.decode()
        assert server.ask("{ server { sessions } }")["data"]["server"]["sessions"] == 17
        index.unlink()
        moved.rename(index)
        while code("heron") is not None or server.request("GET", "/readyz")[0] != 200:
            pass


def test_a_folder_of_somebody_else_is_refused(data_dir: Path) -> None:
    (data_dir / "index").mkdir()
    (data_dir / "index" / "diary.txt").write_text("mine", "utf-8")
    for command in (["search", "x"], ["serve", "--port", "0"]):
        done = run(*command, "--data-dir", data_dir)
        assert (done.returncode, done.stdout) == (1, "")
        assert "is not an index of SessionGraph and was left alone" in done.stderr
    assert [each.name for each in (data_dir / "index").iterdir()] == ["diary.txt"]
