"""The corpus as somebody sees it for whom only the sessions of some directories exist.

A session that is elsewhere is missing here from every answer, like one that was never made. What
is shown must not name it either, so of a session that is seen:

* the parent's id is replaced by ``UNSEEN_PARENT`` unless the parent is seen too, and a filter by
  such an id finds nothing; an ancestry ends there, a descent does not go through it;
* the file that a recorder keeps it in is not told, nor a note that names a file: recorders name
  files and folders after sessions.

The events of a session are its own, whatever they speak of. Whether a session is seen depends on
its working directory alone, so the store is asked for those within the right places from the
beginning, and pages and counts are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from msgspec.structs import replace as changed
from typing_extensions import override

from sessiongraph.citations import CitedKey, SessionCitation
from sessiongraph.corpus import CorpusView, LiveView, LogicalSession
from sessiongraph.cover_query import CoverQuery
from sessiongraph.errors import PersistenceFailed
from sessiongraph.filters import SessionSelection
from sessiongraph.header import SessionHeader
from sessiongraph.ports import LogReader, SessionKey, SessionOrder
from sessiongraph.visibility import UNSEEN_PARENT, Visibility


class ConfinedView(CorpusView):
    """One observation of the part of the corpus that exists for somebody."""

    def __init__(
        self,
        seen: Visibility,
        reader: LogReader | None,
        live: LiveView,
        failure: PersistenceFailed | None = None,
    ) -> None:
        super().__init__(reader, live, failure)
        self.seen = seen
        self._only_live = {
            session_id: capture
            for session_id, capture in self._only_live.items()
            if seen.admits(capture.header)
        }

    @override
    def narrowed(self, selection: SessionSelection) -> SessionSelection:
        """A selection of the sessions that exist here."""
        return replace(selection, within=self.seen.within)

    @override
    async def find(self, ids: Collection[str]) -> dict[str, LogicalSession]:
        """The sessions among ``ids``; see :meth:`CorpusView.find`."""
        found = await self._shown((await super().find(ids)).values())
        return {session.session_id: session for session in found}

    @override
    async def sessions(
        self,
        selection: SessionSelection,
        order: SessionOrder,
        *,
        limit: int,
        after: SessionKey | None = None,
        before: SessionKey | None = None,
    ) -> list[LogicalSession]:
        """A page of the list; see :meth:`CorpusView.sessions`."""
        selection = self.narrowed(selection)
        if selection.parents is not None:
            named = [parent for parent in selection.parents if parent is not None]
            seen = frozenset(await self._seen_among(named))
            selection = replace(selection, parents=selection.parents & (seen | {None}))
        listed = await super().sessions(selection, order, limit=limit, after=after, before=before)
        return await self._shown(listed)

    @override
    async def covered(self, query: CoverQuery) -> list[LogicalSession]:
        """The first sessions with a cover; see :meth:`CorpusView.covered`."""
        return await self._shown(await super().covered(replace(query, within=self.seen.within)))

    @override
    async def cited_by(
        self, target_id: str, *, limit: int, after: CitedKey | None = None
    ) -> list[SessionCitation]:
        """Citations of a session; see :meth:`CorpusView.cited_by`."""
        found = await super().cited_by(target_id, limit=limit, after=after)
        # A stored log may be seen where the live session of its id is not.
        citing = await self._seen_among({each.session_id for each in found})
        return [each for each in found if each.session_id in citing]

    @override
    async def ancestors(self, ids: Collection[str]) -> dict[str, list[LogicalSession]]:
        """The ancestors up to the first that is not seen; see :meth:`CorpusView.ancestors`."""
        found = await super().ancestors(ids)
        for path in found.values():
            for at, session in enumerate(path):
                if not self.seen.admits(session.header):
                    del path[at:]
                    break
        await self._shown(session for path in found.values() for session in path)
        return found

    @override
    def _is_open(self, session_id: str) -> bool:
        header = self._live.header(session_id)
        return header is not None and self.seen.admits(header)

    async def _seen_among(self, ids: Collection[str]) -> set[str]:
        """Those of some sessions that exist here."""
        if not ids:
            return set()
        try:
            found = await super().find(ids)
        except PersistenceFailed:
            return set()
        return {each.session_id for each in found.values() if self.seen.admits(each.header)}

    async def _shown(self, sessions: Iterable[LogicalSession]) -> list[LogicalSession]:
        """Those of some sessions that exist here, with what may be shown of them."""
        seen = [session for session in sessions if self.seen.admits(session.header)]
        known = {session.session_id for session in seen} | {None, UNSEEN_PARENT}
        parents = {session.header.parent_session for session in seen}
        known |= await self._seen_among([each for each in parents - known if each is not None])
        for session in seen:
            session.header = _cleared(session.header, known)
        return seen


def _cleared(header: SessionHeader, known: Collection[str | None]) -> SessionHeader:
    """A header without a word of what its reader cannot see."""
    source = header.source
    parent = header.parent_session if header.parent_session in known else UNSEEN_PARENT
    notes = tuple(note for note in source.notes if not ("/" in note or "\\" in note))
    return changed(header, parent_session=parent, source=changed(source, path=None, notes=notes))
