"""The states of one session, folded event by event.

A *cell* is one unit's state of one session. Always true of the cells of a session:

* all that are alive reflect the log up to the same event, ``seq``, except while they are restored:
  a cell that came from a checkpoint skips the events that its state already reflects;
* a cell whose unit raised, or made what is not JSON, is *failed*: absent from then on, logged once
  with the seq; the other cells never notice;
* an event that leaves a state the same object costs the call and nothing else;
* what is shown has passed its schema: a view is checked when it is first shown, a state when it is
  written to a checkpoint, each at most once.

There is no input or output here, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import structlog

from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.event import CHUNK_TYPE, DeltaRun, Entry, Seq, SessionEvent
from sessiongraph.projections.ports import CheckpointRow
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.schemas import NotPlainJson, require_json_kind
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.views import Snapshot, View

_log: Final = structlog.get_logger(__name__)

_NOTHING: Final[Mapping[str, Any]] = {}


class Seed(msgspec.Struct, frozen=True):
    """A state to fold on from, and the events that it reflects already.

    seq: the last of them. changed_seq: the one that last changed the view.
    """

    seq: Seq
    changed_seq: Seq
    state: Any


class Cell:
    """One unit's state of one session.

    since: events up to this one are skipped, the state reflects them.
    changed_seq: the event that last changed the view (of a unit without one: the state).
    shown: the view, whether or not anybody has been shown it; checked: it passed its schema.
    """

    __slots__ = ("changed_seq", "checked", "failed", "shown", "since", "state", "unit")

    def __init__(self, unit: Projection[Any], since: Seq) -> None:
        self.unit = unit
        self.since = since
        self.state: Any = None
        self.changed_seq: Seq = -1
        self.shown: Any = None
        self.checked = False
        self.failed = False

    def seed(self, state: Any, changed_seq: Seq) -> None:
        """Take a first state.

        Raises:
            Exception: whatever the unit's ``view`` raises.
        """
        self.state = _json_kind(state)
        self.changed_seq = changed_seq
        if self.unit.view is not None:
            self.shown = _json_kind(self.unit.view(state))

    def change(self, state: Any, seq: Seq) -> bool:
        """Take another state; answers whether clients would see the difference.

        Raises:
            Exception: whatever the unit's ``view`` raises.
        """
        _json_kind(state)
        if self.unit.view is None:
            self.state, self.changed_seq = state, seq
            return False
        shown = _json_kind(self.unit.view(state))
        self.state = state
        if is_same(shown, self.shown):
            return False
        self.shown, self.changed_seq, self.checked = shown, seq, False
        return True


class SessionCells:
    """Every cell of one session.

    seq: the last event that was folded, -1 before the first.
    seeds: states to fold on from, by key; units without one begin at the beginning.
    failures: units that are known to fail in this log, and where.
    changes: how often a state has changed, to tell whether there is anything to write.
    """

    def __init__(
        self,
        session_id: str,
        routes: Routes,
        seq: Seq = -1,
        seeds: Mapping[str, Seed] = _NOTHING,
        failures: Mapping[str, Seq] = _NOTHING,
    ) -> None:
        self.session_id = session_id
        self.routes = routes
        self.seq = seq
        self.changes = 0
        self.failures: dict[str, Seq] = {}
        self._cells = [
            self._begun(unit, seeds.get(unit.key), failures.get(unit.key)) for unit in routes.units
        ]

    def _begun(self, unit: Projection[Any], seed: Seed | None, failed_at: Seq | None) -> Cell:
        cell = Cell(unit, -1 if seed is None else seed.seq)
        if failed_at is not None:
            cell.failed = True
            self.failures[unit.key] = failed_at
            return cell
        try:
            if seed is None:
                cell.seed(unit.init(), -1)
            else:
                cell.seed(seed.state, seed.changed_seq)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            self._contain(cell, cell.since, error)
        return cell

    @property
    def proven_from(self) -> Seq:
        """The event that the log must reach for every seed to be of this log."""
        return max((cell.since for cell in self._cells), default=-1)

    def fold_all(self, entries: Iterable[Entry]) -> None:
        """Fold a stretch of the log; what begins before it is skipped."""
        for entry in entries:
            self.fold(entry)

    def fold(self, entry: Entry, changed: list[View] | None = None) -> None:
        """Fold one entry; events that were folded before are skipped.

        changed: takes the views that changed, in order; None when nobody looks.

        Raises:
            CorruptSession: there is a gap before the entry.
        """
        if entry.last_seq <= self.seq:
            return
        if entry.seq > self.seq + 1:
            raise CorruptSession(
                f"event {self.seq + 1} of {self.session_id!r} is missing from the stored log"
            )
        if isinstance(entry, DeltaRun):
            self._fold_run(entry, changed)
        else:
            seq = entry.seq
            for place in self.routes.of(entry.type):
                cell = self._cells[place]
                if seq > cell.since and not cell.failed:
                    self._apply(cell, cell.unit.apply, entry, seq, changed)
        self.seq = entry.last_seq

    def _fold_run(self, run: DeltaRun, changed: list[View] | None) -> None:
        apart: list[Cell] = []
        for place in self.routes.of(CHUNK_TYPE):
            cell = self._cells[place]
            if cell.failed or run.last_seq <= cell.since:
                continue
            apply_run = cell.unit.apply_run
            if apply_run is None or cell.since >= run.seq or self.seq >= run.seq:
                apart.append(cell)
            else:
                self._apply(cell, apply_run, run, run.last_seq, changed)
        if apart:
            for event in run.members(self.seq + 1):
                for cell in apart:
                    if event.seq > cell.since and not cell.failed:
                        self._apply(cell, cell.unit.apply, event, event.seq, changed)

    def _apply(
        self,
        cell: Cell,
        apply: Callable[[Any, Any], Any],
        what: SessionEvent | DeltaRun,
        seq: Seq,
        changed: list[View] | None,
    ) -> None:
        try:
            state = apply(cell.state, what)
            if state is cell.state:
                return
            visible = cell.change(state, seq)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            self._contain(cell, seq, error)
            return
        self.changes += 1
        if visible and changed is not None:
            view = self._checked_view(cell)
            if view is not None:
                changed.append(view)

    def _contain(self, cell: Cell, seq: Seq, error: Exception) -> None:
        cell.failed = True
        cell.state = cell.shown = None
        self.failures[cell.unit.key] = seq
        self.changes += 1
        _log.error(
            "a projection failed and is absent from this session",
            session=self.session_id,
            key=cell.unit.key,
            seq=seq,
            error=f"{type(error).__name__}: {error}",
        )

    def _checked_view(self, cell: Cell) -> View | None:
        """What clients are shown of a cell; None when it may not be shown."""
        if cell.failed or cell.unit.view is None:
            return None
        if not cell.checked:
            if not cell.unit.view_check.accepts_made(cell.shown):
                self._contain(cell, cell.changed_seq, NotPlainJson("the view fails its schema"))
                return None
            cell.checked = True
        return View(cell.unit.key, cell.changed_seq, cell.shown)

    def snapshot(self, keys: Collection[str] | None = None) -> Snapshot:
        """All views, or those of the named keys, of this moment; unknown keys are left out."""
        wanted = (
            self._checked_view(cell)
            for cell in self._cells
            if keys is None or cell.unit.key in keys
        )
        views = tuple(view for view in wanted if view is not None)
        return Snapshot(self.session_id, self.seq, views)

    def state_of(self, key: str) -> Any:
        """The state under a key, borrowed: not to be changed, not to be kept.

        Raises:
            KeyError: there is no such unit, or it failed.
        """
        for cell in self._cells:
            if cell.unit.key == key and not cell.failed:
                return cell.state
        raise KeyError(key)

    def rows(self) -> list[CheckpointRow]:
        """What a checkpoint holds: detached copies of every state, as text."""
        rows: list[CheckpointRow] = []
        for cell in self._cells:
            if cell.failed:
                continue
            unit = cell.unit
            if unit.state_check.accepts_made(cell.state):
                text = lossless.encode(cell.state)
                rows.append(
                    CheckpointRow(unit.key, unit.state_version, self.seq, cell.changed_seq, text)
                )
            else:
                self._contain(cell, self.seq, NotPlainJson("the state fails its schema"))
        return rows

    def checkpoint(self) -> dict[str, Any]:
        """Every state by key, as copies that nobody shares."""
        return {row.key: lossless.decode(row.state) for row in self.rows()}

    def lacks(self, routes: Routes) -> tuple[Projection[Any], ...]:
        """The units among others that have no cell here, failed or not."""
        known = {cell.unit.key: cell.unit for cell in self._cells}
        return tuple(unit for unit in routes.units if known.get(unit.key) != unit)

    def adopt(self, routes: Routes, late: SessionCells) -> None:
        """Go on with other units: the cells of those that left go, late ones come in.

        late: cells for what this session :meth:`lacks`, folded as far as these.
        """
        assert late.seq == self.seq, (late.seq, self.seq)
        cells = {cell.unit.key: cell for cell in self._cells}
        cells.update((cell.unit.key, cell) for cell in late._cells)
        self._cells = [cells[unit.key] for unit in routes.units]
        self.routes = routes
        keys = {unit.key for unit in routes.units}
        failures = {**self.failures, **late.failures}
        self.failures = {key: seq for key, seq in failures.items() if key in keys}
        self.changes += 1

    def keep_only(self, routes: Routes) -> None:
        """Let the cells go whose units are not among these."""
        kept = [unit for unit in self.routes.units if unit in routes.units]
        if len(kept) < len(self.routes.units):
            self.adopt(Routes(tuple(kept)), SessionCells(self.session_id, Routes(()), self.seq))


def _json_kind(value: Any) -> Any:
    require_json_kind(value)
    return value


def is_same(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same; unlike ``==``, 1, 1.0 and True are three values."""
    if left is right:
        return True
    return bool(left == right) and lossless.encode(left) == lossless.encode(right)


def restored_seeds(
    units: Sequence[Projection[Any]], rows: Iterable[CheckpointRow]
) -> dict[str, Seed]:
    """The rows that can be folded on, by key: of the right version, and well-formed."""
    by_key = {unit.key: unit for unit in units}
    seeds: dict[str, Seed] = {}
    for row in rows:
        unit = by_key.get(row.key)
        if unit is not None:
            seed = seed_of(unit, row)
            if seed is not None:
                seeds[row.key] = seed
    return seeds


def seed_of(unit: Projection[Any], row: CheckpointRow) -> Seed | None:
    """The state of a row, None when the row is outdated or damaged."""
    if row.version != unit.state_version or not -1 <= row.changed_seq <= row.seq:
        return None
    try:
        state = lossless.decode(row.state)
    except ValueError:
        return None
    if not unit.state_check.accepts(state):
        return None
    return Seed(row.seq, row.changed_seq, state)
