"""How things are measured: alternating runs, the loop's longest pause, memory, fresh processes.

Machines that share their cores are noisy, and the noise comes in waves. So what is compared runs in
turn, one run of each in every round and the order turned round every time, and what is said of it
are medians and ratios. What one measurement leaves in memory must not show in the next: whatever
memory is measured runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

from benchmarks.figures import Sample
from server.cli import OBJECTS_BEFORE_COLLECTION
from server.wiring import THREAD_SWITCH_S

P = ParamSpec("P")
T = TypeVar("T")

Run = Callable[[int], Awaitable[object]]
"""One run of something; it is told the number of the round."""

_TICK_S: Final = 0.001
_STATUS: Final = Path("/proc/self/status")
_PEAK_RESET: Final = Path("/proc/self/clear_refs")


async def alternating(
    rounds: int, runs: Mapping[str, Run], *, warm_up: int = 2
) -> dict[str, Sample]:
    """Milliseconds of every run, round after round; the first rounds are not counted."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    worked: dict[str, list[float]] = {name: [] for name in runs}
    gc.collect()
    for turn in range(-warm_up, rounds):
        names = list(runs)[:: 1 if turn % 2 else -1]
        for name in names:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            await runs[name](turn % rounds)
            if turn >= 0:
                taken[name].append((time.perf_counter() - begun) * 1e3)
                worked[name].append((time.process_time() - begun_cpu) * 1e3)
    return {name: Sample(tuple(taken[name]), cpu_ms=tuple(worked[name])) for name in runs}


def in_fresh_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a module's function, called in a new process that ends behind it.

    Its threads take turns, and its garbage is looked for, as in the program.
    """
    with ProcessPoolExecutor(1, _processes(), _run_as_the_program) as pool:
        return pool.submit(work, *args, **kwargs).result()


def _processes() -> BaseContext:
    """How processes begin: forked from one that has imported everything and done nothing."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["benchmarks.__main__"])
    return processes


def _run_as_the_program() -> None:
    sys.setswitchinterval(THREAD_SWITCH_S)
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION, *gc.get_threshold()[1:])


class LoopPauses:
    """Watches the event loop: a task that wants to wake every millisecond, and how late it was."""

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LoopPauses:
        self._ticking = asyncio.create_task(self._tick())
        await asyncio.sleep(_TICK_S)
        self.longest_ms = 0.0
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        await asyncio.sleep(0)
        assert self._ticking is not None
        self._ticking.cancel()
        await asyncio.gather(self._ticking, return_exceptions=True)

    async def _tick(self) -> None:
        before = time.perf_counter()
        while True:
            await asyncio.sleep(_TICK_S)
            now = time.perf_counter()
            self.longest_ms = max(self.longest_ms, (now - before - _TICK_S) * 1e3)
            before = now


async def longest_pauses(rounds: int, run: Run) -> tuple[Sample, Sample]:
    """The loop's longest pause while ``run`` runs, and in as long a time with nothing to do."""
    busy, idle = [], []
    await run(0)
    for turn in range(rounds):
        begun = time.perf_counter()
        async with LoopPauses() as pauses:
            await run(turn)
        busy.append(pauses.longest_ms)
        async with LoopPauses() as pauses:
            await asyncio.sleep(time.perf_counter() - begun)
        idle.append(pauses.longest_ms)
    return Sample.of(busy), Sample.of(idle)


class PeakMemory:
    """How far the resident memory of this process rises above where it was; in megabytes."""

    def __init__(self) -> None:
        self.grown_mb = 0.0
        self._before = 0.0

    def __enter__(self) -> PeakMemory:
        gc.collect()
        if _PEAK_RESET.exists():
            _PEAK_RESET.write_text("5", encoding="ascii")
            self._before = _status_mb("VmRSS")
        else:
            self._before = _peak_mb()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.grown_mb = max(0.0, _peak_mb() - self._before)


def give_memory_back() -> None:
    """Have what was freed go back to the system, where the C library can be asked for that."""
    gc.collect()
    trim = getattr(ctypes.pythonapi, "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident_mb() -> float:
    """The resident memory of this process as it is now; where that is not told, its peak."""
    gc.collect()
    return _status_mb("VmRSS") if _STATUS.exists() else _peak_mb()


def peak_of_children_mb() -> float:
    """The most resident memory that one of the processes had that this one started and awaited."""
    return _peak_of(resource.RUSAGE_CHILDREN)


def _peak_mb() -> float:
    return _status_mb("VmHWM") if _STATUS.exists() else _peak_of(resource.RUSAGE_SELF)


def _peak_of(whom: int) -> float:
    peak = resource.getrusage(whom).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def _status_mb(name: str) -> float:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError(f"{_STATUS} has no {name}")
