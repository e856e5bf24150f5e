"""Which title of a Claude Code session stands, of all that its files give it.

A person's stands before the model's, and that before a summary. A summary names a session by one of
its records, mostly one of another file; so it may come before the record that it names, or be found
in a file beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Final

from providers.recordings.claude_records import FAMILY
from providers.recordings.conversation import Conversation

_SUMMARIES_REMEMBERED: Final = 64


class TitledBy(IntEnum):
    """Who gave the title that stands; a later one may be replaced by an equal or higher one."""

    NOBODY = 0
    SUMMARY = 1
    MODEL = 2
    PERSON = 3


class Titles:
    """The titles of one session.

    title_of: the summary that another file gives to the session of a record, by its uuid.
    by: who gave the one that stands. summaries: of records that were not told yet, by their uuids.
    """

    def __init__(self, conversation: Conversation, title_of: Callable[[str], str | None]) -> None:
        self._conversation = conversation
        self._title_of = title_of
        self.by = TitledBy.NOBODY
        self.summaries: dict[str, str] = {}

    def remember(self, by: TitledBy, summaries: dict[str, str]) -> None:
        """Go on where an earlier reading of the file ended."""
        self.by, self.summaries = by, summaries

    def by_person(self, title: str) -> None:
        """A title that a person gave."""
        self._entitle(title, TitledBy.PERSON, {"kind": "user"})

    def by_model(self, title: str) -> bool:
        """A title that the model gave; False where a person's stands."""
        if self.by > TitledBy.MODEL:
            return False
        self._entitle(title, TitledBy.MODEL, {"kind": "provider", "provider": FAMILY})
        return True

    def by_summary(self, summary: str, uuid: str, *, is_told: bool) -> bool:
        """A summary of the session of a record; False where it does not become the title now.

        is_told: whether the record was read already.
        """
        if is_told and self.by <= TitledBy.SUMMARY:
            self._entitle(summary, TitledBy.SUMMARY, {"kind": "summary"})
            return True
        self.summaries[uuid] = summary
        if len(self.summaries) > _SUMMARIES_REMEMBERED:
            del self.summaries[next(iter(self.summaries))]
        return False

    def told(self, uuid: str) -> None:
        """A record was told; there may be a summary for it."""
        summary = self.summaries.pop(uuid, None) or self._title_of(uuid)
        if summary is not None and self.by <= TitledBy.SUMMARY:
            self._entitle(summary, TitledBy.SUMMARY, {"kind": "summary"})

    def _entitle(self, title: str, by: TitledBy, source: Mapping[str, Any]) -> None:
        self.by = by
        data = {"title": title, "messageSeqs": [], "source": source}
        self._conversation.log("session/title", data)
