"""The commands on the sample sessions, as their users run them."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from providers.tantivy.index import TantivyIndex
from schema.export import sdl
from server.samples import sample_sessions
from sessiongraph.search.ports import Forget
from tests.contracts.search_index import learn
from tests.providers.sqlite.raw import connected
from tests.server.processes import run

SESSIONS = 16


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def write_log(path: Path, session_id: str, **header: Any) -> Path:
    """A log of one prompt, as dsh writes it."""
    head = {"type": "session", "version": 0, "id": session_id, "createdAt": 1, **header}
    prompt = {
        "type": "user/message",
        "seq": 0,
        "time": 2,
        "data": {
            "id": "m",
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": header.pop("text", "hello")}],
        },
        "surfaceOp": "append",
    }
    head.pop("text", None)
    path.write_text(f"{json.dumps(head)}\n{json.dumps(prompt)}\n", "utf-8")
    return path


def imported(tmp_path: Path, *files: Path) -> Path:
    data_dir = tmp_path / "data"
    done = run("import", "--data-dir", data_dir, "--quiet", *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return data_dir


def break_store(data_dir: Path, *statements: str) -> None:
    """Change the store behind its back."""
    with connected(data_dir / "log.db") as connection:
        for statement in statements:
            connection.execute(statement)


# import


def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    with sample_sessions() as folder:
        first = run("import", "--data-dir", tmp_path, "--json", folder)
        second = run("import", "--data-dir", tmp_path, "--json", folder)
    (report,) = lines_of(first.stdout)
    assert (first.returncode, first.stderr) == (0, "")
    assert (report["files"], report["imported"], report["refused"]) == (SESSIONS, SESSIONS, [])
    assert report["events"] > 0
    assert report["bytes"] > 0
    (report,) = lines_of(second.stdout)
    assert second.returncode == 0
    assert (report["imported"], report["unchanged"], report["events"]) == (0, SESSIONS, 0)


def test_the_summary_is_a_table_on_stdout_and_progress_is_for_terminals(tmp_path: Path) -> None:
    with sample_sessions() as folder:
        done = run("import", "--data-dir", tmp_path, folder)
    assert (done.returncode, done.stderr) == (0, "")
    head, row = done.stdout.splitlines()
    assert head.split() == [
        *("files", "imported", "resumed", "unchanged", "refused", "events", "read", "time"),
    ]
    assert row.split()[:5] == [str(SESSIONS), str(SESSIONS), "0", "0", "0"]


def test_a_file_that_has_grown_is_resumed(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", "grows")
    data_dir = imported(tmp_path, log)
    with log.open("a") as file:
        file.write('{"type":"session/title","seq":1,"time":3,"data":{"title":"grown"}}\n')
    done = run("import", "--data-dir", data_dir, "--json", log)
    (report,) = lines_of(done.stdout)
    assert (report["resumed"], report["events"]) == (1, 1)
    assert "grown" in run("show", "grows", "--data-dir", data_dir).stdout


def test_one_bad_file_never_stops_the_rest(tmp_path: Path) -> None:
    good = write_log(tmp_path / "good.jsonl", "good")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no recorder wrote this\n")
    done = run("import", "--data-dir", tmp_path / "data", "--quiet", bad, good)
    assert (done.returncode, done.stdout) == (0, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"refused {bad}:1: ")
    assert run("show", "good", "--data-dir", tmp_path / "data").returncode == 0


def test_when_everything_is_refused_the_import_has_failed(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no recorder wrote this\n")
    done = run("import", "--data-dir", tmp_path / "data", "--json", bad)
    assert done.returncode == 1
    (report,) = lines_of(done.stdout)
    assert [refusal["path"] for refusal in report["refused"]] == [str(bad)]
    assert done.stderr == "sessiongraph: nothing was imported: 1 refused\n"


def test_a_dry_run_stores_nothing_and_makes_nothing(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    log = write_log(tmp_path / "log.jsonl", "trial")
    done = run("import", "--data-dir", data_dir, "--dry-run", "--json", log)
    (report,) = lines_of(done.stdout)
    assert (done.returncode, report["dryRun"], report["imported"]) == (0, True, 1)
    assert not data_dir.exists()


def test_a_dry_run_compares_with_what_is_stored(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.jsonl", "known")
    data_dir = imported(tmp_path, log)
    other = write_log(tmp_path / "other.jsonl", "new")
    done = run("import", "--data-dir", data_dir, "--dry-run", "--json", log, other)
    (report,) = lines_of(done.stdout)
    assert (report["imported"], report["unchanged"]) == (1, 1)
    assert run("show", "new", "--data-dir", data_dir).returncode == 1


# show


def test_show_prints_head_and_surface_as_a_transcript(sample_store: Path) -> None:
    done = run("show", "harbor-tour", "--data-dir", sample_store)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["session", "harbor-tour"]
    assert "    Too slow. What is wrong with it, in three bullets?" in lines
    assert any(line.startswith("assistant (deepseek-flash) · 26 · ") for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_show_prints_the_projections_between_head_and_transcript(sample_store: Path) -> None:
    done = run("show", "harbor-ledger-migration", "--data-dir", sample_store)
    assert (done.returncode, done.stderr) == (0, "")
    _, views, transcript = done.stdout.split("\n\n", 2)
    assert "✓ Backfill in batches" in views
    goal = r"^goal +Store money as integer minor units; .* \(complete\)$"
    assert re.search(goal, views, re.MULTILINE)
    assert re.search(r"^sessionStats +turns 7, steps 19, llm 58.6 s", views, re.MULTILINE)
    assert re.search(r"^turnOutline +7 turns$", views, re.MULTILINE)
    assert "title" not in views
    assert transcript.startswith("user")


def test_show_json_has_every_view_as_the_api_has_it(sample_store: Path) -> None:
    (shown,) = lines_of(run("show", "harbor-release", "--json", "--data-dir", sample_store).stdout)
    projections = shown["projections"]
    assert projections["asOfSeq"] == shown["lastSeq"]
    views = {view["key"]: view for view in projections["views"]}
    assert views["title"]["value"] == shown["title"] == "Release 2.4.0"
    assert views["turnOutline"]["value"][0]["turn"] == 1
    assert list(views)[:3] == ["title", "todos", "goal"]


def test_show_of_a_log_that_cannot_be_folded_says_so_and_shows_the_rest(tmp_path: Path) -> None:
    data_dir = imported(tmp_path, write_log(tmp_path / "session.jsonl", "short"))
    break_store(data_dir, "UPDATE logs SET last_seq = 5")
    done = run("show", "short", "--data-dir", data_dir)
    assert done.returncode == 0
    assert "hello" in done.stdout
    assert "its projections cannot be read: 'short' ends before event 5" in done.stderr


def test_show_json_is_one_object_with_the_surface(sample_store: Path) -> None:
    (shown,) = lines_of(run("show", "harbor-tour", "--json", "--data-dir", sample_store).stdout)
    assert shown["id"] == shown["header"]["sessionId"] == "harbor-tour"
    assert shown["surface"][0]["type"] == "user/message"
    assert [event["seq"] for event in shown["surface"]] == sorted(
        event["seq"] for event in shown["surface"]
    )


def test_show_json_has_payloads_whole(sample_store: Path) -> None:
    (shown,) = lines_of(run("show", "harbor-audit", "--json", "--data-dir", sample_store).stdout)
    replies = [event for event in shown["surface"] if event["type"] == "assistant/message"]
    assert replies
    assert all("stream" in event["data"] for event in replies)


def test_show_raw_is_the_log_as_recorded(sample_store: Path) -> None:
    done = run("show", "harbor-tour", "--raw", "--data-dir", sample_store)
    with sample_sessions() as folder:
        (file,) = folder.glob("*/harbor-tour/session.jsonl")
        assert done.stdout == file.read_text("utf-8")


def test_what_a_log_holds_cannot_steer_the_terminal(tmp_path: Path) -> None:
    text = "\x1b]0;owned\x07\x1b[2J\r\u202egnp.exe \ud800 fine"
    log = write_log(tmp_path / "log.jsonl", "evil\x1b[31m", text=text)
    data_dir = imported(tmp_path, log)
    done = run("show", "evil\x1b[31m", "--data-dir", data_dir)
    assert done.returncode == 0
    assert "␛]0;owned␇␛[2J␍\ufffdgnp.exe \ufffd fine" in done.stdout
    assert not set(done.stdout) & {"\x1b", "\x07", "\r", "\u202e"}
    assert "\x1b" not in run("lineage", "evil\x1b[31m", "--data-dir", data_dir).stdout


@pytest.mark.parametrize("command", [["show"], ["show", "--raw"], ["lineage"], ["export"]])
def test_an_unknown_id_is_one_line_and_1(sample_store: Path, command: list[str]) -> None:
    done = run(*command, "nobody", "--data-dir", sample_store)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sessiongraph: no session has the id 'nobody' (SESSION_QUERY_SESSION_NOT_FOUND)\n"
    )


@pytest.mark.parametrize("command", [["show", "a"], ["lineage", "a"], ["export", "a"]])
def test_reading_where_nothing_is_makes_nothing(tmp_path: Path, command: list[str]) -> None:
    done = run(*command, "--data-dir", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("command", [["show", "a"], ["lineage", "a"], ["export", "a"]])
@pytest.mark.parametrize("kind", ["text", "database"])
def test_a_store_that_is_not_ours_is_refused_in_one_line(
    tmp_path: Path, command: list[str], kind: str
) -> None:
    if kind == "text":
        (tmp_path / "log.db").write_text("somebody's notes\n" * 100)
    else:
        with sqlite3.connect(tmp_path / "log.db") as connection:
            connection.execute("CREATE TABLE notes (note TEXT)")
        connection.close()
    done = run(*command, "--data-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(tmp_path / "log.db") in done.stderr


# lineage


def test_lineage_draws_the_family_with_the_session_marked(sample_store: Path) -> None:
    done = run("lineage", "harbor-retry-fork-a", "--data-dir", sample_store)
    assert (done.returncode, done.stderr) == (0, "")
    drawn = re.findall(r"^([ │├└─]*[a-z-]+(?: ◀)?)  ", done.stdout, re.MULTILINE)
    assert drawn == [
        "harbor-retry",
        "├── harbor-retry-fork-a ◀",
        "│   └── harbor-retry-fork-a-jitter",
        "└── harbor-retry-fork-b",
    ]


def test_a_partial_lineage_names_the_parent_that_is_missing(sample_store: Path) -> None:
    done = run("lineage", "harbor-oncall", "--data-dir", sample_store)
    first, second = done.stdout.splitlines()
    assert first == "harbor-oncall-night (not in the store)"
    assert second.startswith("harbor-oncall ◀")
    (told,) = lines_of(run("lineage", "harbor-oncall", "--json", "--data-dir", sample_store).stdout)
    assert (told["complete"], told["unresolvedParentId"]) == (False, "harbor-oncall-night")


def test_lineage_json_names_root_ancestors_and_descendants(sample_store: Path) -> None:
    done = run("lineage", "harbor-retry-fork-a-jitter", "--json", "--data-dir", sample_store)
    (told,) = lines_of(done.stdout)
    assert (told["complete"], told["root"]["id"]) == (True, "harbor-retry")
    assert told["ancestors"] == ["harbor-retry-fork-a", "harbor-retry"]
    assert [(node["id"], node["depth"]) for node in told["descendants"]] == [
        ("harbor-retry-fork-a", 1),
        ("harbor-retry-fork-a-jitter", 2),
        ("harbor-retry-fork-b", 1),
    ]


def test_a_very_deep_family_stays_readable(tmp_path: Path) -> None:
    files = [
        write_log(
            tmp_path / f"{n:03}.jsonl", f"s{n}", **({"parentSession": f"s{n - 1}"} if n else {})
        )
        for n in range(60)
    ]
    data_dir = imported(tmp_path, *files)
    done = run("lineage", "s59", "--data-dir", data_dir)
    lines = done.stdout.splitlines()
    assert len(lines) == 60
    assert "(59 levels deep) s59 ◀" in lines[-1]
    assert max(map(len, lines)) < 200


def test_a_circle_in_the_ancestry_is_an_error(tmp_path: Path) -> None:
    data_dir = imported(
        tmp_path,
        write_log(tmp_path / "a.jsonl", "a", parentSession="b"),
        write_log(tmp_path / "b.jsonl", "b", parentSession="a"),
    )
    done = run("lineage", "a", "--data-dir", data_dir)
    assert (done.returncode, done.stdout) == (1, "")
    assert "SESSION_QUERY_INVALID_LINEAGE" in done.stderr


# export


def test_everything_exported_is_imported_again_byte_for_byte(
    sample_store: Path, tmp_path: Path
) -> None:
    done = run(
        "export", "--all", "--output", tmp_path / "out", "--json", "--data-dir", sample_store
    )
    assert (done.returncode, done.stderr) == (0, "")
    written = lines_of(done.stdout)
    assert len(written) == SESSIONS
    with sample_sessions() as folder:
        for original in folder.glob("*/*/*.jsonl"):
            copy = tmp_path / "out" / original.parent.name / original.name
            assert copy.read_bytes() == original.read_bytes()
    again = run("import", "--data-dir", tmp_path / "data", "--json", tmp_path / "out")
    (report,) = lines_of(again.stdout)
    assert (report["imported"], report["refused"]) == (SESSIONS, [])


def test_one_session_goes_to_stdout_or_to_a_file(sample_store: Path, tmp_path: Path) -> None:
    printed = run("export", "harbor-audit", "--data-dir", sample_store)
    file = tmp_path / "audit.jsonl"
    done = run("export", "harbor-audit", "--output", file, "--data-dir", sample_store)
    assert done.returncode == 0
    assert file.read_text("utf-8") == printed.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


def test_what_is_exported_is_for_its_owner_alone(sample_store: Path, tmp_path: Path) -> None:
    """Whatever the umask: transcripts hold secrets. Folders that were there stay as they are."""
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    file, folder = kept / "new" / "deeper" / "audit.jsonl", kept / "folder" / "of" / "them"
    for arguments in (["harbor-audit", "--output", file], ["--all", "--output", folder]):
        done = run("export", *arguments, "--data-dir", sample_store, umask=0o022)
        assert (done.returncode, done.stderr) == (0, "")
    made = list(kept.rglob("*"))
    assert len(made) == 3 + 3 + 2 * SESSIONS
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE(kept.stat().st_mode) == 0o755


@pytest.mark.parametrize("session_id", ["a/b", "..", "ümläut 🙂", "x" * 400])
def test_any_id_has_a_folder_of_its_own(tmp_path: Path, session_id: str) -> None:
    data_dir = imported(tmp_path, write_log(tmp_path / "log.jsonl", session_id))
    out = tmp_path / "out"
    done = run("export", "--all", "--output", out, "--data-dir", data_dir)
    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = out.iterdir()
    assert [path.name for path in folder.iterdir()] == ["session.jsonl"]


def test_an_export_of_an_unknown_id_writes_nothing(sample_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("export", "harbor-tour", "nobody", "--output", out, "--data-dir", sample_store)
    assert done.returncode == 1
    assert not out.exists()


# check


@pytest.fixture
def own_store(sample_store: Path, tmp_path: Path) -> Path:
    """A copy of the samples' store, to be broken."""
    return Path(shutil.copytree(sample_store, tmp_path / "own"))


def test_a_store_in_order_is_told_in_one_line(sample_store: Path) -> None:
    done = run("check", "--data-dir", sample_store)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(rf"{SESSIONS} sessions, [0-9]+ events: all as it must be\n", done.stdout)


def test_what_is_wrong_is_told_and_repaired_and_then_in_order(own_store: Path) -> None:
    break_store(own_store, "UPDATE totals SET events = events + 5", "UPDATE logs SET title = x'78'")
    found = run("check", "--data-dir", own_store)
    assert found.returncode == 1
    assert "wrong     harbor-tour: title: " in found.stdout
    assert "wrong     the store: totals: " in found.stdout
    assert re.fullmatch(
        r"sessiongraph: the store has ([0-9]+) faults: --repair rebuilds \1 of them\n", found.stderr
    )
    repaired = run("check", "--repair", "--json", "--data-dir", own_store)
    (verdict,) = lines_of(repaired.stdout)
    assert (repaired.returncode, verdict["faults"]) == (0, [])
    assert {fault["what"] for fault in verdict["repaired"]} == {"title", "totals"}
    (verdict,) = lines_of(run("check", "--json", "--data-dir", own_store).stdout)
    assert (verdict["faults"], verdict["repaired"]) == ([], [])


def test_a_damaged_log_is_told_and_cannot_be_repaired(own_store: Path) -> None:
    break_store(own_store, "DELETE FROM events WHERE id = (SELECT max(log) << 32 | 4 FROM logs)")
    done = run("check", "--repair", "--json", "--data-dir", own_store)
    (verdict,) = lines_of(done.stdout)
    assert done.returncode == 1
    assert [(fault["what"], fault["repairable"]) for fault in verdict["faults"]] == [("log", False)]
    assert done.stderr == "sessiongraph: the store has 1 fault: none can be rebuilt\n"


def test_an_index_that_is_behind_or_missing_is_no_fault(own_store: Path, tmp_path: Path) -> None:
    assert run("reindex", "--data-dir", own_store).returncode == 0
    log = write_log(tmp_path / "log.jsonl", "later")
    assert run("import", "--data-dir", own_store, "--quiet", log).returncode == 0
    done = run("check", "--data-dir", own_store)
    assert (done.returncode, done.stderr) == (0, "")
    shutil.rmtree(own_store / "index")
    assert run("check", "--data-dir", own_store).stdout == done.stdout
    assert not (own_store / "index").exists()


def test_an_index_that_is_not_as_the_log_says_is_told_and_built_anew(own_store: Path) -> None:
    assert run("reindex", "--data-dir", own_store).returncode == 0
    before = run("search", "--data-dir", own_store, "--json", "retry").stdout
    asyncio.run(forget_in_the_index(own_store, "harbor-tour"))
    found = run("check", "--data-dir", own_store)
    assert found.returncode == 1
    assert re.fullmatch(
        "wrong     harbor-tour: search: 0 documents are indexed, [0-9]+ are in the log\n"
        "wrong     the store: search: 2 of its documents are of logs that are not there\n",
        found.stdout,
    )
    repaired = run("check", "--repair", "--data-dir", own_store)
    assert repaired.returncode == 0, repaired.stderr
    assert repaired.stdout.count("repaired  ") == 2
    assert repaired.stdout.endswith(": all as it must be\n")
    assert run("search", "--data-dir", own_store, "--json", "retry").stdout == before


async def forget_in_the_index(data_dir: Path, session_id: str) -> None:
    """Change the index behind the store's back: a session is gone, another was never there."""
    index = TantivyIndex.open(data_dir / "index")
    assert index.watermark is not None
    await index.apply([Forget(session_id), learn("never there", "one", "two")])
    await index.commit(index.watermark)
    await index.close()


def test_a_file_of_the_index_that_was_garbled_is_told_and_built_anew(own_store: Path) -> None:
    assert run("reindex", "--data-dir", own_store).returncode == 0
    (file, *_) = sorted((own_store / "index" / "segments").glob("*.pos"))
    octets = file.read_bytes()
    file.write_bytes(octets[:9] + bytes([octets[9] ^ 1]) + octets[10:])
    found = run("check", "--data-dir", own_store)
    assert found.returncode == 1
    assert found.stdout == (
        f"wrong     the store: search: the file {file.name} is not as it was written\n"
    )
    assert found.stderr == "sessiongraph: the store has 1 fault: --repair rebuilds 1 of them\n"
    off = run("check", "--data-dir", own_store, environment={"SESSIONGRAPH_SEARCH": "off"})
    assert off.returncode == 0
    repaired = run("check", "--repair", "--json", "--data-dir", own_store)
    (verdict,) = lines_of(repaired.stdout)
    assert (repaired.returncode, verdict["faults"]) == (0, [])
    assert [fault["what"] for fault in verdict["repaired"]] == ["search"]


def test_a_folder_of_somebody_else_is_told_and_left_alone(own_store: Path) -> None:
    (own_store / "index").mkdir()
    (own_store / "index" / "diary.txt").write_text("mine", "utf-8")
    done = run("check", "--repair", "--json", "--data-dir", own_store)
    (verdict,) = lines_of(done.stdout)
    assert done.returncode == 1
    assert [(fault["what"], fault["repairable"]) for fault in verdict["faults"]] == [
        ("file", False)
    ]
    assert (own_store / "index" / "diary.txt").read_text("utf-8") == "mine"


def test_a_repair_makes_no_store_where_there_is_none(tmp_path: Path) -> None:
    done = run("check", "--repair", "--data-dir", tmp_path / "none")
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "none").exists()


# schema, demo


def test_schema_prints_the_contract() -> None:
    done = run("schema")
    assert (done.returncode, done.stdout, done.stderr) == (0, sdl(), "")


def test_the_demo_answers_one_query_of_each_kind_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    done = run("demo", "--once", environment={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{SESSIONS} sample sessions" in done.stdout
    assert '"errors"' not in done.stdout
    for kind in ("observeSessions", "documents", "surface", "replacementChain", "ancestors"):
        assert f'"{kind}"' in done.stdout
    assert list(tmp_path.iterdir()) == []
