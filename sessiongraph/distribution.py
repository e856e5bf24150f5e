"""How often something took how long, or was how large: counted where it happens, read by who asks.

Counting costs less than a microsecond and keeps nothing but one number for each range, so it can
stand in the way of every append. One thread counts; any thread may read, and sees counts of about
the same moment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Bounds that fit what a server does while somebody waits."""

COUNTS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Bounds that fit how many things are done together."""


class Distribution:
    """The counts of some values.

    bounds: ascending; a value belongs to the first bound that is not below it, or to none.
    total: the sum of all values.
    """

    __slots__ = ("_counts", "bounds", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self._counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self._counts)

    def up_to(self) -> list[int]:
        """For each bound, how many values were not above it; last, how many there were."""
        reached, sums = 0, []
        for count in self._counts:
            reached += count
            sums.append(reached)
        return sums
