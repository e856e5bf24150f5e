"""How a check of the store runs and shows itself: progress, what is wrong, a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from providers.sqlite.verification import Fault
from server.cli.checkpoint_verification import (
    CHECKPOINT_FAULT,
    remove_checkpoints,
    verify_checkpoints,
)
from server.cli.index_verification import INDEX_FAULT, rebuild_index, verify_index
from server.cli.output import stderr_console, stdout_console, visible
from server.wiring import Services
from sessiongraph.ports import CorpusCounts

_TOLD_OF_A_KIND: Final = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found. faults: what is wrong now. repaired: what was, and was rebuilt."""

    counts: CorpusCounts
    faults: tuple[Fault, ...]
    repaired: tuple[Fault, ...] = ()

    def summary(self) -> str:
        """How much is wrong, and what can be done about it."""
        count = len(self.faults)
        rebuildable = sum(fault.repairable for fault in self.faults)
        faults = "1 fault" if count == 1 else f"{count:,} faults"
        hope = (
            f"--repair rebuilds {rebuildable:,} of them" if rebuildable else "none can be rebuilt"
        )
        return f"the store has {faults}: {hope}"


async def verify(services: Services, *, show: bool) -> Verdict:
    """Check everything; ``show``: with a progress bar, on a terminal."""
    async with services.query.observe() as observation:
        counts = await observation.counts()
    console = stderr_console()
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("sessions"),
        TextColumn("{task.fields[events]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not (show and console.is_terminal),
    ) as progress:
        task = progress.add_task("checking", total=counts.sessions, events="")

        def on_progress(sessions: int, events: int) -> None:
            progress.update(task, completed=sessions, events=f"{events:,} events")

        faults = await services.store.check(on_progress)
        if all(fault.what != "file" for fault in faults):
            folded = progress.add_task("checking checkpoints", total=counts.sessions, events="")
            faults += await verify_checkpoints(
                services, lambda sessions: progress.update(folded, completed=sessions)
            )
            indexed = progress.add_task("checking the index", total=counts.sessions, events="")
            faults += await verify_index(
                services, lambda sessions: progress.update(indexed, completed=sessions)
            )
    return Verdict(counts, tuple(faults))


async def verify_and_repair(services: Services, *, show: bool) -> Verdict:
    """Check everything, rebuild what can be rebuilt, and check again if anything was wrong."""
    found = await verify(services, show=show)
    if not found.faults:
        return found
    kinds = {fault.what for fault in found.faults}
    if kinds - {INDEX_FAULT, CHECKPOINT_FAULT}:
        apart = (INDEX_FAULT, CHECKPOINT_FAULT)
        await services.store.repair([each for each in found.faults if each.what not in apart])
    if CHECKPOINT_FAULT in kinds:
        await remove_checkpoints(services)
    if INDEX_FAULT in kinds:
        await rebuild_index(services, show=show)
    left = await verify(services, show=show)
    repaired = tuple(fault for fault in found.faults if fault not in left.faults)
    return Verdict(left.counts, left.faults, repaired)


def print_verdict(verdict: Verdict) -> None:
    """What is wrong, and the sum of it; of faults of one kind in one session the first few."""
    console = stdout_console()
    for line in _told(verdict.repaired):
        console.print(Text(f"repaired  {line}", "green"))
    for line in _told(verdict.faults):
        console.print(Text(f"wrong     {line}", "red"))
    if not verdict.faults:
        counts = verdict.counts
        console.print(
            Text(f"{counts.sessions:,} sessions, {counts.events:,} events: all as it must be")
        )


def _told(faults: Sequence[Fault]) -> Iterator[str]:
    kinds: dict[tuple[str | None, str], list[Fault]] = {}
    for fault in faults:
        kinds.setdefault((fault.session_id, fault.what), []).append(fault)
    for (session_id, what), alike in kinds.items():
        where = visible("the store" if session_id is None else session_id)
        for fault in alike[:_TOLD_OF_A_KIND]:
            yield f"{where}: {what}: {visible(fault.detail)}"
        if len(alike) > _TOLD_OF_A_KIND:
            yield f"{where}: {what}: {len(alike) - _TOLD_OF_A_KIND} more"


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as one object."""
    return {
        "sessions": verdict.counts.sessions,
        "events": verdict.counts.events,
        "faults": [_fault_as_json(fault) for fault in verdict.faults],
        "repaired": [_fault_as_json(fault) for fault in verdict.repaired],
    }


def _fault_as_json(fault: Fault) -> dict[str, Any]:
    return {
        "sessionId": fault.session_id,
        "what": fault.what,
        "detail": fault.detail,
        "repairable": fault.repairable,
    }
