"""How dsh spells the two members that place a message: ``surfaceOp`` and ``sourceEventSeqs``.

Both directions, for all versions. A replacement names its ends ``start`` and ``end`` up to version
2 and ``startSeq`` and ``endSeq`` from 3 on; both are read whatever the version. A citation list may
hold inclusive ranges ``[from, to]``; with one it must strictly ascend. Whether a placement is
allowed is for the surface to say, not for this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Literal

import msgspec

from sessiongraph.event import APPEND, Seq, SurfaceOp

_FIRST_VERSION_WITH_SEQ_ENDS: Final = 3
_SHORTEST_RANGE: Final = 3


class PlacementMalformed(ValueError):
    """A surfaceOp or sourceEventSeqs that says nothing; the message says why."""


class Replacement(msgspec.Struct, rename="camel"):
    """A replacing surfaceOp in either spelling."""

    op: Literal["replace"]
    start: int | None = None
    end: int | None = None
    start_seq: int | None = None
    end_seq: int | None = None


StoredSurfaceOp = Literal["append"] | Replacement | None
StoredSources = list[int | tuple[int, int]] | None


def read_surface_op(stored: StoredSurfaceOp) -> SurfaceOp | None:
    """The surfaceOp of a row.

    Raises:
        PlacementMalformed: a replacement lacks an end.
    """
    if stored is None:
        return None
    if not isinstance(stored, Replacement):
        return APPEND
    start = stored.start if stored.start is not None else stored.start_seq
    end = stored.end if stored.end is not None else stored.end_seq
    if start is None or end is None:
        raise PlacementMalformed("surfaceOp is a replacement without its two ends")
    return SurfaceOp(start, end)


def written_surface_op(version: int, op: SurfaceOp) -> Any:
    """The surfaceOp as JSON, in the spelling of a version."""
    if not op.replaces:
        return "append"
    if version < _FIRST_VERSION_WITH_SEQ_ENDS:
        return {"op": "replace", "start": op.start, "end": op.end}
    return {"op": "replace", "startSeq": op.start, "endSeq": op.end}


def read_sources(stored: StoredSources, seq: Seq) -> tuple[Seq, ...] | None:
    """The seqs that event ``seq`` cites, ranges as their members.

    A list with ranges is checked before it is expanded: two numbers must not fill the memory.

    Raises:
        PlacementMalformed: a list with ranges does not ascend, or reaches ``seq``.
    """
    if stored is None:
        return None
    single = tuple(member for member in stored if isinstance(member, int))
    if len(single) == len(stored):
        return single
    expanded: list[Seq] = []
    for member in stored:
        first, last = member if isinstance(member, tuple) else (member, member)
        if last < first or (expanded and first <= expanded[-1]):
            raise PlacementMalformed("sourceEventSeqs has ranges but does not ascend")
        if first < 0 or last >= seq:
            raise PlacementMalformed("sourceEventSeqs has ranges and cites what is not earlier")
        expanded.extend(range(first, last + 1))
    return tuple(expanded)


def written_sources(seqs: Sequence[Seq]) -> list[int | list[int]]:
    """Citations as dsh writes them: in an ascending list three or more in a row become a pair.

    A list that does not strictly ascend has an order of its own and stays as it is.
    """
    if any(later <= earlier for earlier, later in pairwise(seqs)):
        return list(seqs)
    written: list[int | list[int]] = []
    start = 0
    for index in range(1, len(seqs) + 1):
        if index < len(seqs) and seqs[index] == seqs[index - 1] + 1:
            continue
        if index - start >= _SHORTEST_RANGE:
            written.append([seqs[start], seqs[index - 1]])
        else:
            written.extend(seqs[start:index])
        start = index
    return written
