"""Messages that stand twice in a Codex file: in the model's history and on the screen.

Whichever side comes first is told; its counterpart is recognised by the same text (an editor's
context around a request aside), or by standing right behind it, where the texts are not the same.
What is not met within a few records was said on one side only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import msgspec

from providers.recordings.codex_records import request_in
from sessiongraph.event import Seq

_REACH: Final = 32


class Said(msgspec.Struct):
    """A message that was told and whose counterpart may still come.

    role: who said it. on_screen: the side it was told from. record: its number in the file.
    words: a digest of the text. gist: of what of it is the person's own. others: its blocks that
        are not text.
    """

    role: str
    on_screen: bool
    words: str
    gist: str
    seq: Seq
    record: int
    others: list[Any] = []

    @classmethod
    def of(
        cls,
        role: str,
        text: str,
        seq: Seq,
        record: int,
        *,
        on_screen: bool,
        others: Sequence[Any] = (),
    ) -> Said:
        """A message with this text."""
        words, request = _digest(text), request_in(text)
        gist = words if request is text else _digest(request)
        return cls(role, on_screen, words, gist, seq, record, list(others))

    def says(self, text: str) -> bool:
        """Whether it says the same, but for white space."""
        return self.words == _digest(text)


@lru_cache(maxsize=4)  # a text is asked for when it is told, and twice when it comes again
def _digest(text: str) -> str:
    return sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Pairs:
    """Messages that wait for their counterparts."""

    def __init__(self, waiting: list[Said]) -> None:
        self.waiting = waiting

    def add(self, said: Said) -> None:
        self.waiting = [each for each in self.waiting if said.record - each.record <= _REACH]
        self.waiting.append(said)

    def take(self, role: str, *, on_screen: bool, text: str, record: int) -> Said | None:
        """The counterpart of a message, which then waits no longer; None where there is none."""
        others = [
            each
            for each in self.waiting
            if each.role == role
            and each.on_screen is not on_screen
            and record - each.record <= _REACH
        ]
        if not others:
            return None
        gist = _digest(request_in(text))
        found = next((each for each in others if each.gist == gist), None)
        if found is None:
            found = next((each for each in others if each.record == record - 1), None)
        if found is not None:
            self.waiting.remove(found)
        return found
