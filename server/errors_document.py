"""``docs/errors.md``, generated from the error classes so that no code goes undocumented."""

from __future__ import annotations

from typing import Final

import sessiongraph.references.errors  # noqa: F401 - so that its classes are among them
from sessiongraph.errors import error_classes

_BEGINNING: Final = """\
# Error codes

What clients read in `extensions.code`. `extensions.retriable` says whether the same request can
succeed later without being changed. This page is generated from `sessiongraph/errors.py`.

| code | meaning | retriable |
|---|---|---|
"""

_END: Final = """\

An unexpected failure is `INTERNAL_SERVER_ERROR` with a reference (`extensions.reference`) under
which it is logged in full; nothing of it is shown.
"""


def errors_document() -> str:
    """The page, in Markdown."""
    rows = []
    for error in error_classes():
        meaning = " ".join((error.__doc__ or "").replace("``", "`").split())
        retriable = "yes" if error.retriable else "no"
        rows.append(f"| `{error.code}` | {meaning} | {retriable} |\n")
    return _BEGINNING + "".join(rows) + _END
