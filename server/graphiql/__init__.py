"""GraphiQL, the page on which a person tries queries in a browser.

The page and all it loads come from this server: the bundles of GraphiQL are built into
``assets/`` when the package is (hatch_build.py), the few lines of our own lie beside this module,
and no script or query is inline, so that a strict policy can hold. Always true:

* a built page names no other host;
* without assets the page loads nothing at all; only when a person asks for it (``cdn``) does it
  name one public host, and then every file is pinned to a version and checked against a hash that
  was taken from the same npm packages (``bundles.json``);
* :func:`asset_path` knows a fixed list of names: what is not on it does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final, TypedDict

_FOLDER: Final = Path(__file__).parent
_ASSETS: Final = _FOLDER / "assets"
"""The bundles, made by hatch_build.py; absent in a build without Node.js."""

CDN_HOST: Final = "cdn.jsdelivr.net"

_SCROLL_LOCK_STYLE: Final = "'sha256-nzTgYzXYDNe6BAHiiI7NNlfK8n/auuOAhh2t92YvuXo='"
"""The one style element that GraphiQL adds, which keeps the page still behind a dialog."""

CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_SCROLL_LOCK_STYLE}; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The policy under which the page works: nothing inline, nothing from another host."""

CDN_CONTENT_SECURITY_POLICY: Final = CONTENT_SECURITY_POLICY.replace(
    "script-src 'self'", f"script-src 'self' https://{CDN_HOST}"
).replace("style-src 'self'", f"style-src 'self' https://{CDN_HOST}")
"""The policy of the page with ``cdn``."""


class _Bundle(TypedDict):
    """Where a bundle comes from in npm, and its sha384 there."""

    package: str
    version: str
    path: str
    integrity: str


def _read_bundles() -> dict[str, _Bundle]:
    bundles: dict[str, _Bundle] = json.loads((_FOLDER / "bundles.json").read_bytes())
    return bundles


_BUNDLES: Final = _read_bundles()
_OWN_FILES: Final = ("page.js", "page.css")
_CONTENT_TYPES: Final = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

ASSET_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {name: _CONTENT_TYPES[Path(name).suffix] for name in (*_BUNDLES, *_OWN_FILES)}
)
"""Every name that the page may load from ``/graphiql/``, with its content type."""


def asset_path(name: str) -> Path | None:
    """The file behind ``/graphiql/<name>``; None when the name is not one of ours or not built."""
    if name not in ASSET_TYPES:
        return None
    path = (_FOLDER if name in _OWN_FILES else _ASSETS) / name
    return path if path.is_file() else None


def assets_built() -> bool:
    """Whether this build has GraphiQL on board."""
    return all(asset_path(name) is not None for name in _BUNDLES)


@cache
def example_queries() -> tuple[str, ...]:
    """The queries in the tabs of a first visit; they ask about the sample sessions."""
    return tuple(
        path.read_text("utf-8") for path in sorted((_FOLDER / "examples").glob("*.graphql"))
    )


_TRUSTED_ONLY: Final = (
    '<p class="notice">This server runs trusted documents only (setting <code>documents</code>). '
    "Anything else that is typed here is refused.</p>"
)


def graphiql_page(
    endpoint: str = "/graphql", *, cdn: bool = False, trusted_only: bool = False
) -> str:
    """The HTML of the page.

    With assets: GraphiQL, from this server. Without: a plain page that says how to get it, whose
    button asks for this page again with ``cdn`` (``?cdn=1``), which loads it from ``CDN_HOST``.

    endpoint: where the page sends its queries; subscriptions go to the same path by WebSocket.
    trusted_only: whether the page says that few queries will be answered.
    """
    notice = _TRUSTED_ONLY if trusted_only else ""
    if assets_built():
        return _page(endpoint, {name: f'"/graphiql/{name}"' for name in _BUNDLES}, notice)
    if cdn:
        sources = {name: _cdn_source(bundle) for name, bundle in _BUNDLES.items()}
        return _page(endpoint, sources, notice)
    query = json.dumps({"query": "{ sessions(first: 5) { nodes { id title } } }"})
    return _template("plain.html").substitute(
        endpoint=escape(endpoint),
        notice=notice,
        curl=escape(
            f"sessiongraph token show | curl -H @- http://127.0.0.1:8642{endpoint} \\\n"
            f"  -H 'content-type: application/json' -d '{query}'"
        ),
        version=_BUNDLES["graphiql.js"]["version"],
        host=CDN_HOST,
    )


def _page(endpoint: str, sources: Mapping[str, str], notice: str) -> str:
    """The page with GraphiQL; ``sources`` is what follows ``src=`` or ``href=`` of each bundle."""
    styles = [
        f'<link rel="stylesheet" href={source}>'
        for name, source in sources.items()
        if name.endswith(".css")
    ]
    scripts = [
        f"<script src={source}></script>"
        for name, source in sources.items()
        if name.endswith(".js")
    ]
    return _template("page.html").substitute(
        endpoint=escape(endpoint),
        notice=notice,
        styles="\n".join(styles),
        examples=json.dumps(example_queries(), ensure_ascii=False).replace("<", "\\u003c"),
        scripts="\n".join(scripts),
    )


def _cdn_source(bundle: _Bundle) -> str:
    url = f"https://{CDN_HOST}/npm/{bundle['package']}@{bundle['version']}/{bundle['path']}"
    return f'"{url}" integrity="{bundle["integrity"]}" crossorigin="anonymous"'


@cache
def _template(name: str) -> Template:
    return Template((_FOLDER / name).read_text("utf-8"))
