"""The GraphiQL page asks no other host for anything unless a person wants it to."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from graphql import build_schema, parse, validate

import server.graphiql
from server.graphiql import (
    ASSET_TYPES,
    CDN_CONTENT_SECURITY_POLICY,
    CDN_HOST,
    CONTENT_SECURITY_POLICY,
    asset_path,
    assets_built,
    example_queries,
    graphiql_page,
)
from server.samples import sample_sessions

ROOT = Path(__file__).parents[2]
BUNDLES = json.loads((ROOT / "server/graphiql/bundles.json").read_bytes())
MANIFEST = ROOT / "frontend-example/graphiql"
SCHEMA = ROOT / "schema/schema.graphql"
OTHER_HOST = re.compile(r"(?:https?:|wss?:)?//\w")


@pytest.fixture
def with_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in BUNDLES:
        (tmp_path / name).write_text("built", "utf-8")
    monkeypatch.setattr(server.graphiql, "_ASSETS", tmp_path)
    return tmp_path


@pytest.fixture
def without_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.graphiql, "_ASSETS", tmp_path / "absent")


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts by their index."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[int, str] = {}
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.inside[len(self.found) - 1] = data

    def addresses(self) -> list[str]:
        """Everything that loading the page would ask for, and every link."""
        return [
            value
            for _, attributes in self.found
            for key in ("src", "href", "action")
            if (value := attributes.get(key)) is not None
        ]


@pytest.mark.usefixtures("with_assets")
def test_built_page_names_no_other_host() -> None:
    page = graphiql_page()
    loaded = [address for address in Elements(page).addresses() if address != "data:,"]
    names = [address.removeprefix("/graphiql/") for address in loaded]
    assert sorted(names) == sorted(ASSET_TYPES)
    assert not OTHER_HOST.search(page)


@pytest.mark.usefixtures("with_assets")
def test_built_page_stays_local_when_the_public_host_is_asked_for() -> None:
    assert graphiql_page(cdn=True) == graphiql_page()


@pytest.mark.parametrize("name", ["page.js", "page.css"])
def test_own_files_name_no_other_host(name: str) -> None:
    path = asset_path(name)
    assert path is not None
    assert not re.search(r"(?:https?:|wss?:)//\w|url\(", path.read_text("utf-8"))


@pytest.mark.usefixtures("with_assets")
def test_no_script_or_style_is_inline() -> None:
    elements = Elements(graphiql_page())
    for index, (tag, attributes) in enumerate(elements.found):
        assert tag != "style"
        assert not [key for key in attributes if key == "style" or key.startswith("on")]
        if tag == "script" and index in elements.inside:
            assert attributes["type"] == "application/json"


def test_policy_allows_nothing_inline_and_no_other_host() -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "//" not in CONTENT_SECURITY_POLICY
    assert CDN_CONTENT_SECURITY_POLICY.count(CDN_HOST) == 2
    assert CDN_CONTENT_SECURITY_POLICY.replace(f" https://{CDN_HOST}", "") == (
        CONTENT_SECURITY_POLICY
    )


@pytest.mark.usefixtures("without_assets")
def test_page_without_assets_loads_nothing_but_its_own_style() -> None:
    page = graphiql_page()
    elements = Elements(page)
    assert not assets_built()
    assert "script" not in {tag for tag, _ in elements.found}
    assert elements.addresses() == ["data:,", "/graphiql/page.css", "?cdn=1"]
    assert "npm" in page


@pytest.mark.usefixtures("without_assets")
def test_every_file_from_the_public_host_is_pinned_and_checked() -> None:
    remote = [
        attributes
        for _, attributes in Elements(graphiql_page(cdn=True)).found
        if OTHER_HOST.match(attributes.get("src") or attributes.get("href") or "")
    ]
    expected = {
        f"https://{CDN_HOST}/npm/{b['package']}@{b['version']}/{b['path']}": b["integrity"]
        for b in BUNDLES.values()
    }
    assert {a.get("src") or a.get("href"): a.get("integrity") for a in remote} == expected
    assert all(a.get("crossorigin") == "anonymous" for a in remote)
    assert all(re.fullmatch(r"sha384-[A-Za-z0-9+/]{64}", str(a["integrity"])) for a in remote)


@pytest.mark.usefixtures("with_assets")
def test_endpoint_cannot_break_out_of_the_page() -> None:
    page = graphiql_page('/g"><script>alert(1)</script>')
    assert "<script>alert" not in page
    place = next(a for _, a in Elements(page).found if a.get("id") == "graphiql")
    assert place["data-endpoint"] == '/g"><script>alert(1)</script>'


def test_every_listed_name_is_served_with_its_content_type(with_assets: Path) -> None:
    for name, content_type in ASSET_TYPES.items():
        path = asset_path(name)
        assert path is not None
        assert path.is_file()
        assert content_type.startswith("text/css" if name.endswith(".css") else "text/javascript")


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../__init__.py",
        "../graphiql/page.js",
        "./page.js",
        "assets/react.js",
        "page.html",
        "bundles.json",
        "LICENSES.txt",
        "/etc/passwd",
        "..\\page.js",
        "..%2fpage.js",
        "page.js\0",
        "PAGE.JS",
    ],
)
def test_no_other_name_has_a_path(name: str, with_assets: Path) -> None:
    (with_assets / "LICENSES.txt").write_text("not served", "utf-8")
    assert asset_path(name) is None


@pytest.mark.usefixtures("without_assets")
def test_bundles_that_are_not_built_have_no_path() -> None:
    assert [name for name in ASSET_TYPES if asset_path(name)] == ["page.js", "page.css"]


def test_bundles_are_the_versions_of_the_lock_file() -> None:
    package = json.loads((MANIFEST / "package.json").read_bytes())
    lock_text = (MANIFEST / "package-lock.json").read_text("utf-8")
    lock = json.loads(lock_text)["packages"]
    pinned = {bundle["package"]: bundle["version"] for bundle in BUNDLES.values()}
    assert package["dependencies"] == pinned
    assert {name: lock[f"node_modules/{name}"]["version"] for name in pinned} == pinned
    assert '"resolved"' not in lock_text
    assert all("integrity" in entry for path, entry in lock.items() if path)


@pytest.mark.skipif(not assets_built(), reason="GraphiQL is not built here")
def test_built_assets_are_the_files_whose_hashes_are_known() -> None:
    for name, bundle in BUNDLES.items():
        path = asset_path(name)
        assert path is not None
        digest = base64.b64encode(hashlib.sha384(path.read_bytes()).digest()).decode()
        assert bundle["integrity"] == f"sha384-{digest}"


@pytest.mark.usefixtures("with_assets")
def test_examples_are_in_the_page_as_they_are() -> None:
    elements = Elements(graphiql_page())
    at = next(i for i, (_, a) in enumerate(elements.found) if a.get("id") == "examples")
    assert tuple(json.loads(elements.inside[at])) == example_queries()


def test_examples_ask_about_sessions_that_are_there() -> None:
    with sample_sessions() as folder:
        known = {path.parent.name for path in folder.rglob("*.jsonl")}
    asked = {name for query in example_queries() for name in re.findall(r'id: "([^"]+)"', query)}
    assert asked
    assert asked <= known


def test_examples_are_named_operations() -> None:
    for query in example_queries():
        (operation,) = parse(query).definitions
        assert operation.name is not None  # type: ignore[attr-defined]


@pytest.mark.skipif(not SCHEMA.is_file(), reason="the schema is not exported yet")
def test_examples_are_valid_under_the_served_schema() -> None:
    schema = build_schema(SCHEMA.read_text("utf-8"))
    for query in example_queries():
        assert validate(schema, parse(query)) == []
