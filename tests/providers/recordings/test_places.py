"""Where recorders keep their files."""

from __future__ import annotations

from pathlib import Path

from providers.recordings.places import Place, places

HOME = Path("/home/mei")


def test_each_recorder_has_its_folder_at_home() -> None:
    assert places({}, HOME) == [
        Place("dsh", HOME / ".dsh/sessions"),
        Place("Claude Code", HOME / ".claude/projects"),
        Place("Codex", HOME / ".codex/sessions"),
        Place("Codex", HOME / ".codex/archived_sessions"),
    ]


def test_folders_are_moved_as_the_recorders_move_them() -> None:
    environment = {"DSH_HOME": "/dsh", "CLAUDE_CONFIG_DIR": "/a, /b", "CODEX_HOME": "/codex"}
    assert [str(place.path) for place in places(environment, HOME)] == [
        "/dsh/sessions",
        "/a/projects",
        "/b/projects",
        "/codex/sessions",
        "/codex/archived_sessions",
    ]


def test_a_blank_value_is_none() -> None:
    assert places({"DSH_HOME": " ", "CODEX_HOME": ""}, HOME) == places({}, HOME)
