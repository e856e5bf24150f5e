"""The example package beside the program, as an installer lays it out: its view is served."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from tests.server.processes import ROOT, run, serving

EXAMPLE = ROOT / "docs" / "example-projection"
APPEND = """mutation ($id: ID!, $data: JSON!) {
    createSession(input: {id: $id}) { session { id } }
    appendEvents(input: {sessionId: $id, events: [{type: "user/message", data: $data}]}) {
        session { lastSeq } } }"""


def installed(folder: Path) -> dict[str, str]:
    """An environment in which the example package is installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    name = project["name"].replace("-", "_")
    metadata = folder / f"{name}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", "utf-8"
    )
    points = project["entry-points"]["sessiongraph.projections"]
    lines = ["[sessiongraph.projections]", *(f"{key} = {value}" for key, value in points.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines), "utf-8")
    return {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, EXAMPLE, folder)))}


def test_the_view_of_an_installed_package_is_served_and_shown(tmp_path: Path) -> None:
    environment = installed(tmp_path)
    data_dir = tmp_path / "data"
    message = {
        "id": "m",
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": "three little words"}],
    }
    with serving(data_dir, environment=environment) as server:
        facts = server.ask("{ server { projectionKeys } }")["data"]["server"]
        assert facts["projectionKeys"][-1] == "wordCount"
        assert "errors" not in server.ask(APPEND, id="s", data=message)
        answer = server.ask(
            '{ session(id: "s") { projections(keys: ["wordCount"]) { '
            "views { __typename key seq value } } } }"
        )
        assert answer["data"]["session"]["projections"]["views"] == [
            {"__typename": "CustomView", "key": "wordCount", "seq": 0, "value": {"words": 3}}
        ]
    shown = run("show", "s", "--data-dir", data_dir, environment=environment)
    assert re.search(r"^wordCount +words 3$", shown.stdout, re.MULTILINE)
