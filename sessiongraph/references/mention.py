"""Mentions: how a reference to a session is written into a message, and read out of it.

The canonical form is ``@[label](uri)``. In the label a backslash stands before every backslash and
every ``]``, so that the first bare ``]`` ends it and any label survives a round trip; a backslash
before any other character stands for that character. A bare canonical URI is a mention without a
label. What the scheme and at least one base64url character begin is an *attempt*, and so is
whatever a mention encloses after the scheme: an attempt that is not canonical is refused, never
passed on as if it were ordinary words. The scheme's name alone is ordinary (references.md,
"Identity").

The text comes from outside and may be long, so reading it is linear: every ``@[`` before one
closing bracket ends there, and they are decided together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sessiongraph.references.errors import InvalidReference
from sessiongraph.references.uri import SCHEME, decode_uri, encode_uri

_OPENING: Final = "@["
_LABEL: Final = re.compile(r"(?:[^\\\]]++|\\.)*+", re.DOTALL)
_TARGET: Final = f"]({SCHEME}"
_END_OF_TARGET: Final = re.compile(r"[\s)]")
_BARE: Final = re.compile(f"{SCHEME}[A-Za-z0-9_-]+")
_SHOWN_CHARACTERS: Final = 120
"""How much of a refused attempt its error repeats."""


@dataclass(frozen=True, slots=True)
class ReferenceInput:
    """One session that a message references, as its author named it.

    label: how it is shown; None shows the id.
    """

    session_id: str
    label: str | None = None

    @property
    def shown(self) -> str:
        """The label, or the id where there is none."""
        return self.session_id if self.label is None else self.label


@dataclass(frozen=True, slots=True)
class MessageText:
    """A message as it is read by people, and what it references, in order of appearance."""

    text: str
    references: tuple[ReferenceInput, ...] = ()


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A stretch of text that means to be a reference; label is None for a bare URI."""

    start: int
    end: int
    uri: str
    label: str | None = None


def mention_of(reference: ReferenceInput) -> str:
    """The canonical mention of a session."""
    label = reference.shown.replace("\\", "\\\\").replace("]", "\\]")
    return f"@[{label}]({encode_uri(reference.session_id)})"


def parse_text(text: str) -> MessageText:
    """A message with each mention, and each bare URI, replaced by ``@label``.

    Raises:
        InvalidReference: an attempt is not canonical.
    """
    pieces: list[str] = []
    references: list[ReferenceInput] = []
    done = 0
    for attempt in _attempts(text):
        try:
            session_id = decode_uri(attempt.uri)
        except ValueError as error:
            shown = attempt.uri[:_SHOWN_CHARACTERS]
            raise InvalidReference(f"not a canonical reference to a session: {shown!r}") from error
        reference = ReferenceInput(session_id, attempt.label)
        references.append(reference)
        pieces += text[done : attempt.start], "@", reference.shown
        done = attempt.end
    pieces.append(text[done:])
    return MessageText("".join(pieces), tuple(references))


def _attempts(text: str) -> Iterator[_Attempt]:
    """Every attempt, in order, none overlapping another."""
    if SCHEME not in text:
        return
    position = 0
    end_of_target = -1
    while (opening := text.find(_OPENING, position)) >= 0:
        label = _LABEL.match(text, opening + len(_OPENING))
        assert label is not None
        closing = label.end()
        if text[closing : closing + 1] != "]":
            break  # nothing ends this label, nor that of any later mention
        if text.startswith(_TARGET, closing):
            end_of_target = _next_end(text, closing + len(_TARGET), end_of_target)
            if text[end_of_target : end_of_target + 1] == ")":
                yield from _bare(text, position, opening)
                uri = text[closing + 2 : end_of_target]
                position = end_of_target + 1
                yield _Attempt(opening, position, uri, _unescaped(label.group()))
                continue
        yield from _bare(text, position, closing + 1)
        position = closing + 1
    yield from _bare(text, position, len(text))


def _next_end(text: str, start: int, known: int) -> int:
    """Where a mention's URI ends: at white space, a bracket, or with the text.

    known: the answer for an earlier start, which holds as long as it lies ahead.
    """
    if known >= start:
        return known
    found = _END_OF_TARGET.search(text, start)
    return len(text) if found is None else found.start()


def _bare(text: str, start: int, end: int) -> Iterator[_Attempt]:
    for found in _BARE.finditer(text, start, end):
        yield _Attempt(found.start(), found.end(), found.group())


def _unescaped(label: str) -> str:
    return re.sub(r"\\(.)", r"\1", label, flags=re.DOTALL)
