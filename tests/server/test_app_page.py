"""The example front end at ``/app/``: which address answers what, and how long it may be kept."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

import server.frontend
from server.frontend import CONTENT_SECURITY_POLICY, Frontend
from server.pages import app_routes

BUILT = Path(server.frontend.__file__).parent / "built"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A folder as Vite writes it, and a secret beside it."""
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>the app</title>", "utf-8")
    (folder / "icon.svg").write_text("<svg/>", "utf-8")
    (folder / "LICENSES.txt").write_text("MIT", "utf-8")
    (folder / "assets/index-1a2b3c.js").write_text("export {}", "utf-8")
    (folder / "assets/index-1a2b3c.css").write_text("", "utf-8")
    (tmp_path / "secret.js").write_text("secret", "utf-8")
    return folder


def get(folder: Path, path: str) -> httpx.Response:
    """The answer of an application that serves the build in ``folder``."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(Starlette(routes=app_routes(Frontend(folder))))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "path", ["/app/", "/app/search", "/app/sessions/a%2Fb/lineage", "/app/index.html", "/app/x.png"]
)
def test_every_place_in_the_app_answers_its_page_asked_for_anew(build: Path, path: str) -> None:
    answer = get(build, path)
    assert (answer.status_code, "the app" in answer.text) == (200, True)
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


def test_hashed_files_are_kept_for_good_and_others_are_not(build: Path) -> None:
    hashed = get(build, "/app/assets/index-1a2b3c.js")
    assert hashed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert hashed.headers["cache-control"] == "public, max-age=31536000, immutable"
    icon = get(build, "/app/icon.svg")
    assert icon.headers["content-type"] == "image/svg+xml"
    assert icon.headers["cache-control"] == "no-cache"


def test_file_of_another_build_is_not_found(build: Path) -> None:
    assert get(build, "/app/assets/index-999999.js").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/app/..%2fsecret.js", "/app/assets/..%2f..%2fsecret.js", "/app/%2e%2e/secret.js"],
)
def test_no_path_leads_out_of_the_build(build: Path, path: str) -> None:
    assert "secret" not in get(build, path).text


def test_address_without_a_slash_leads_to_the_app(build: Path) -> None:
    answer = get(build, "/app")
    assert (answer.status_code, answer.headers["location"]) == (308, "/app/")


def test_without_a_build_a_plain_page_says_how_to_get_one(tmp_path: Path) -> None:
    answer = get(tmp_path, "/app/sessions/x")
    assert answer.status_code == 200
    assert "npm run build" in answer.text
    assert "<script" not in answer.text
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


def test_policy_allows_nothing_inline_and_no_other_host() -> None:
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "//" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


class Addresses(HTMLParser):
    """What loading a page asks for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for key, value in attrs if key in ("src", "href") and value]


@pytest.mark.skipif(not Frontend().built, reason="the example front end is not built here")
def test_built_page_names_files_of_its_own_build_alone() -> None:
    page = (BUILT / "index.html").read_text("utf-8")
    frontend = Frontend()
    addresses = Addresses(page).found
    assert len(addresses) >= 3
    for address in addresses:
        name = address.removeprefix("/app/")
        assert name != address
        found = frontend.find(name)
        assert found is not None
        assert found.path.name == Path(name).name
    assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", page)
