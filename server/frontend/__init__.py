"""The example front end at ``/app/``: a single-page application, built from ``frontend-example/``.

Its files are built into ``built/`` when the package is (hatch_build.py). Always true:

* only files that were there when the server started have an address, so no path can lead elsewhere;
* a file under ``assets/`` has a hash of its content in its name and is kept by browsers for good;
* every other address below ``/app/`` is a place inside the application and answers its page, which
  is asked for anew each time;
* without the built files ``/app/`` answers a plain page that says how to get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

_FOLDER: Final = Path(__file__).parent
_BUILT: Final = _FOLDER / "built"
"""What Vite wrote; absent in a build without Node.js."""

_DOCUMENTS: Final = _FOLDER / "documents.json"
"""What the application asks, written by ``npm run documents``; part of every build."""

_PAGE: Final = "index.html"
_HASHED: Final = "assets/"

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The policy under which the application works: nothing inline, nothing from another host."""

_CONTENT_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".svg": "image/svg+xml",
    }
)
"""The kinds of files that the application is made of; others are not served."""


@dataclass(frozen=True, slots=True)
class AppFile:
    """One file of the application, and how it is answered."""

    path: Path
    content_type: str
    cache_control: str


class Frontend:
    """The files of one build, as they were found when this was made."""

    def __init__(self, folder: Path = _BUILT) -> None:
        self._files = dict(_files(folder)) if (folder / _PAGE).is_file() else {}

    @property
    def built(self) -> bool:
        """Whether this build has the application on board."""
        return bool(self._files)

    def find(self, name: str) -> AppFile | None:
        """What ``/app/<name>`` answers; None where there is nothing.

        A name that is no file is a place inside the application; one that looks like a hashed file
        belongs to another build and must not be answered with a page.
        """
        found = self._files.get(name)
        if found is None and not name.startswith(_HASHED):
            return self._files.get(_PAGE)
        return found


def documents() -> str:
    """What the application asks, as it sends it: a file of trusted documents."""
    return _DOCUMENTS.read_text("utf-8")


def plain_page() -> str:
    """The page of a build without the application."""
    return (_FOLDER / "plain.html").read_text("utf-8")


def _files(folder: Path) -> list[tuple[str, AppFile]]:
    found = []
    for path in sorted(folder.rglob("*")):
        content_type = _CONTENT_TYPES.get(path.suffix)
        if content_type is None or not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        kept = "public, max-age=31536000, immutable" if name.startswith(_HASHED) else "no-cache"
        found.append((name, AppFile(path, content_type, kept)))
    return found
