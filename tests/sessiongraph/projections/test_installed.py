"""Projections of installed packages, found by the entry points that their metadata name."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiongraph.projections.cells import SessionCells
from sessiongraph.projections.registry import Registry, register_installed
from sessiongraph.projections.units import first_party_registry
from tests.strategies import message, prompt, user_message

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "example-projection"

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes a package importable and its metadata visible, as an installer does."""

    def lay_out(name: str, points: dict[str, str], source: str = "", at: Path = tmp_path) -> None:
        if source:
            (at / f"{name}.py").write_text(source, encoding="utf-8")
        metadata = tmp_path / f"{name}-0.1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
        lines = ["[sessiongraph.projections]", *(f"{key} = {points[key]}" for key in points)]
        (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
        for folder in (at, tmp_path):
            monkeypatch.syspath_prepend(str(folder))

    return lay_out


def install_example(install: Install) -> None:
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    points = project["entry-points"]["sessiongraph.projections"]
    install(project["name"].replace("-", "_"), points, at=EXAMPLE)


def test_the_example_package_adds_its_view_to_every_session(install: Install) -> None:
    install_example(install)
    registry = first_party_registry()
    assert register_installed(registry) == []
    assert registry.keys()[-1] == "wordCount"
    cells = SessionCells("a", registry.routes)
    cells.fold_all(
        [
            prompt(0, "three little words"),
            message(1, "user/message", user_message("not by a person", "plugin")),
            prompt(2, "and more"),
        ]
    )
    assert cells.snapshot(["wordCount"]).values() == {"wordCount": {"words": 5}}
    assert [row.key for row in cells.rows()][-1] == "wordCount"


def test_the_example_is_ten_lines_and_a_fold() -> None:
    source = (EXAMPLE / "word_count.py").read_text(encoding="utf-8")
    declaration = source[source.index("WORD_COUNT") :]
    assert len(declaration.strip().splitlines()) <= 10


def test_an_entry_point_can_name_several(install: Install) -> None:
    install(
        "several",
        {"all": "several:UNITS"},
        """
from sessiongraph.projections import Projection

def unit(key):
    return Projection(key, 1, int, min, lambda state: state, state_schema=int)

UNITS = [unit("one"), unit("two")]
""",
    )
    registry = Registry()
    assert register_installed(registry) == []
    assert registry.keys() == ["one", "two"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('broken on purpose')", "RuntimeError: broken on purpose"),
        ("OTHER = 1", "AttributeError"),
        ("UNIT = 5", "TypeError"),
        ("UNIT = [5]", "InvalidProjection"),
        (
            "from sessiongraph.projections import Projection\n"
            "async def fold(state, event): return state\n"
            "UNIT = Projection('mine', 1, int, fold, state_schema=int)\n",
            "InvalidProjection: mine: apply must not be asynchronous",
        ),
        (
            "from sessiongraph.projections import Projection\n"
            "def fold(state, event): return state\n"
            "UNIT = Projection('title', 1, int, fold, state_schema=int)\n",
            "ProjectionConflict: title is registered with another definition",
        ),
    ],
    ids=["raises", "missing", "no unit", "no units", "asynchronous", "conflict"],
)
def test_a_package_that_cannot_be_used_is_logged_and_left_out(
    install: Install, source: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"broken_{abs(hash(source))}"
    install(name, {"broken": f"{name}:UNIT"}, source)
    install_example(install)
    registry = first_party_registry()
    assert register_installed(registry) == ["broken"]
    assert len(registry.keys()) == 12
    logged = capsys.readouterr().out
    assert "was left out" in logged
    assert reason in logged
