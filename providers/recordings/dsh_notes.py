"""What a reading of a dsh file found worth saying: a sentence for each kind of thing, with counts.

Notes go into the session's header and stay there, so they are few however long the file is, name
no line that later growth would make wrong, and are the same for the same file, however often its
reading stopped on the way: what was counted so far is the memory that the next reading begins with.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from sessiongraph import lossless
from sessiongraph.recordings import is_about_the_tail

_MOST_NAMES: Final = 40
_OTHERS: Final = "others"


class _Memory(msgspec.Struct):
    """All that was said and counted, but for what was said of the end of the file."""

    said: list[str] = []
    losses: dict[str, int] = {}
    opaque: dict[str, int] = {}
    renamed: dict[str, int] = {}
    unknown_keys: dict[str, int] = {}
    read_as_append: int = 0


class DshNotes:
    """The notes of a file, collected row by row.

    memory: of the reading before; None where the file is read from its beginning.

    Raises:
        ValueError: it is not the memory of such notes.
    """

    def __init__(self, memory: bytes | None = None) -> None:
        known = _Memory()
        if memory is not None:
            known = msgspec.convert(lossless.decode(memory), _Memory)
        self._said = dict.fromkeys(known.said)
        self._losses = Counter(known.losses)
        self._opaque = Counter(known.opaque)
        self._renamed = Counter(known.renamed)
        self._unknown_keys = Counter(known.unknown_keys)
        self._read_as_append = known.read_as_append

    def memory(self) -> bytes:
        """What the notes of a later reading begin with."""
        memory = _Memory(
            [sentence for sentence in self._said if not is_about_the_tail(sentence)],
            self._losses,
            self._opaque,
            self._renamed,
            self._unknown_keys,
            self._read_as_append,
        )
        return lossless.encode(msgspec.to_builtins(memory))

    def say(self, sentence: str) -> None:
        """One sentence, however often it is said."""
        self._said.setdefault(sentence)

    def loss(self, phrase: str) -> None:
        """A payload holds something that is not lossless JSON."""
        self._losses[phrase] += 1

    def opaque_type(self, event_type: str) -> None:
        _count(self._opaque, event_type)

    def renamed_type(self, before: str, after: str) -> None:
        _count(self._renamed, f"{before} as {after}")

    def unknown_key(self, key: str) -> None:
        _count(self._unknown_keys, key)

    def read_as_append(self) -> None:
        self._read_as_append += 1

    def sentences(self) -> tuple[str, ...]:
        """Every note, in a fixed order."""
        notes = list(self._said)
        if self._renamed:
            notes.append(f"Older event types are read under newer names: {_list(self._renamed)}.")
        if self._opaque:
            notes.append(f"Types unknown to dsh are kept as opaque events: {_list(self._opaque)}.")
        if self._unknown_keys:
            notes.append(f"Row keys unknown to dsh are left out: {_list(self._unknown_keys)}.")
        if self._read_as_append:
            events = "message event" if self._read_as_append == 1 else "message events"
            notes.append(f"{self._read_as_append} {events} without surfaceOp are read as appended.")
        for phrase, count in sorted(self._losses.items()):
            payloads = "payload holds" if count == 1 else "payloads hold"
            notes.append(f"{count} {payloads} {phrase}, kept as written.")
        return tuple(notes)


def _count(counter: Counter[str], name: str) -> None:
    if name not in counter and len(counter) >= _MOST_NAMES:
        name = _OTHERS
    counter[name] += 1


def _list(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(counter.items()))
