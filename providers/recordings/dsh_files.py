"""Which file of a folder is the session: dsh keeps the files of older generations beside it.

A session's folder holds ``session.jsonl`` (version 0) or ``session.vN.jsonl``, each plain or with
``.zstd``, one for each format generation that the session went through. The highest generation is
the session, the others are its past in other coordinates and must not be read as well. Files with
any other name take nobody's place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"session(?:\.v([1-9][0-9]{0,8}))?\.jsonl(?:\.zstd)?", re.ASCII)


def generation_of(path: Path) -> int | None:
    """The format version that a file's name states, None when the name is not one of dsh's."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    return int(match[1]) if match[1] else 0


def superseded(paths: Sequence[Path]) -> Mapping[Path, Path]:
    """For each file that a higher generation in its folder takes the place of, that file.

    Of a plain and a compressed file of one generation the one that was modified last is taken.
    """
    folders: dict[Path, list[tuple[int, int, str, Path]]] = {}
    for path in paths:
        generation = generation_of(path)
        if generation is not None:
            rank = (generation, _modified_ns(path), path.name, path)
            folders.setdefault(path.parent, []).append(rank)
    losers: dict[Path, Path] = {}
    for ranks in folders.values():
        winner = max(ranks)[-1]
        losers.update((path, winner) for *_, path in ranks if path != winner)
    return losers


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
