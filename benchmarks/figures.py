"""What is measured, as numbers: samples of repeated runs, figures beside a peer, and limits.

A figure is never a bare number: it has the spread of its runs and, where there is something to
compare it with, a peer that ran in turn with it, so that what slows the machine slows both.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MILLISECONDS: Final = "ms"


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of repeated runs, in the order in which they ran.

    cpu_ms: processor time of every run, in this process; empty where it was not watched.
    """

    values: tuple[float, ...]
    unit: str = MILLISECONDS
    cpu_ms: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Iterable[float], unit: str = MILLISECONDS) -> Sample:
        """A sample of any values."""
        return cls(tuple(values), unit)

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """A tenth of the runs lie below."""
        return _quantile(sorted(self.values), 0.1)

    @property
    def high(self) -> float:
        """A tenth of the runs lie above."""
        return _quantile(sorted(self.values), 0.9)

    @property
    def highest(self) -> float:
        return max(self.values)

    def shown(self) -> str:
        """Median and unit, as tables print it."""
        return f"{number(self.median)} {self.unit}"

    def cpu(self) -> str:
        """The median of the processor time, empty where it was not watched."""
        return f"{number(statistics.median(self.cpu_ms))} {MILLISECONDS}" if self.cpu_ms else ""

    def spread(self) -> str:
        """The range that holds the middle eight of ten runs."""
        if len(self.values) == 1:
            return "one run"
        return f"{number(self.low)} to {number(self.high)}"


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a value or on a ratio.

    least: the value must not be smaller; otherwise not larger.
    in_spread: enough when the bound lies within the spread of the runs.
    """

    value: float
    unit: str = MILLISECONDS
    least: bool = False
    in_spread: bool = False

    def holds(self, sample: Sample) -> bool:
        """Whether a sample keeps to the bound."""
        if self.least:
            return (sample.high if self.in_spread else sample.median) >= self.value
        return (sample.low if self.in_spread else sample.median) <= self.value

    def shown(self) -> str:
        """The bound as tables print it."""
        sign = "≥" if self.least else "≤"
        return f"{sign} {number(self.value)} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    peer: what ``ours`` stands beside, called ``peer_name``; the ratio is ours over the peer's.
    limit: on ours. ratio_limit: on the ratio.
    note: what a reader must know to read the figure right.
    """

    area: str
    name: str
    ours: Sample
    peer_name: str = ""
    peer: Sample | None = None
    limit: Limit | None = None
    ratio_limit: Limit | None = None
    note: str = ""

    @property
    def ratio(self) -> Sample | None:
        """Ours over the peer's, pair by pair where they ran in turn, else of the medians."""
        if self.peer is None:
            return None
        if len(self.ours.values) != len(self.peer.values):
            return Sample((self.ours.median / self.peer.median,), "×")
        pairs = zip(self.ours.values, self.peer.values, strict=True)
        return Sample.of((mine / theirs for mine, theirs in pairs), "×")

    @property
    def met(self) -> bool | None:
        """Whether every limit holds; None when there is none."""
        kept = []
        if self.limit is not None:
            kept.append(self.limit.holds(self.ours))
        if self.ratio_limit is not None and self.ratio is not None:
            kept.append(self.ratio_limit.holds(self.ratio))
        return all(kept) if kept else None

    def as_json(self) -> dict[str, Any]:
        """The figure with everything that a later comparison needs."""
        ratio = self.ratio
        return {
            "area": self.area,
            "name": self.name,
            "unit": self.ours.unit,
            "median": self.ours.median,
            "low": self.ours.low,
            "high": self.ours.high,
            "highest": self.ours.highest,
            "cpu_ms": statistics.median(self.ours.cpu_ms) if self.ours.cpu_ms else None,
            "runs": len(self.ours.values),
            "limit": None if self.limit is None else self.limit.shown(),
            "peer": self.peer_name or None,
            "peer_median": None if self.peer is None else self.peer.median,
            "ratio": None if ratio is None else ratio.median,
            "ratio_limit": None if self.ratio_limit is None else self.ratio_limit.shown(),
            "met": self.met,
            "note": self.note or None,
        }


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 0.1 else f"{value:.3f}"


def slowest_of_hundred(values: Iterable[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[int(len(ordered) * 0.99)]


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
