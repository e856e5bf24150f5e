"""What the telling of a Codex session depends on, kept between two readings of its file."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from providers.recordings.codex_pairs import Said
from providers.recordings.codex_usage import Totals
from providers.recordings.conversation import Memory
from sessiongraph.event import Seq


class Task(IntEnum):
    """Whether a task was announced, and whether the turn it is for has begun."""

    NONE = 0
    WAITS = 1
    RUNS = 2


class State(msgspec.Struct, omit_defaults=True):
    """What the telling depends on, besides the conversation.

    record: how many records were told. seeding: whether inherited records are still being told.
    results: whether a tool has answered in this step. reported: whether its usage is known.
    compacted: seq of a compaction whose counterpart on the other side may still come.
    """

    record: int = 0
    seeding: bool = False
    task: Task = Task.NONE
    provider: str | None = None
    model: str | None = None
    window: int | None = None
    totals: Totals | None = None
    results: bool = False
    reported: bool = False
    waiting: list[Said] = []
    compacted: Seq | None = None
    compacted_on_screen: bool = False
    notes: list[str] = []


class CodexMemory(msgspec.Struct):
    """All of it."""

    conversation: Memory
    state: State
