"""Figures as a table for people, as Markdown for the documentation, and as JSON for comparisons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.figures import Figure, Limit

_COLUMNS: Final = (
    "Figure",
    "Ours",
    "Spread",
    "CPU",
    "Limit",
    "Peer",
    "Peer's",
    "Ratio",
    "Limit",
    "Met",
)
_VERDICTS: Final = {True: "yes", False: "**no**", None: ""}

_PREFACE: Final = """\
# Performance

Written by `python -m benchmarks{arguments}`; [benchmarks/README.md](../benchmarks/README.md) says
how to run it and what the columns mean. Absolute figures are of one machine that other work was
sharing; the ratios are of runs that took turns on it, and mean more.
[profiles.md](profiles.md) says where the time goes in what misses a limit, and
[performance-search.md](performance-search.md) is of a million documents.
"""

_PICTURES: Final = """
## What grows, and what does not

Drawn by `python -m benchmarks.plots docs/pictures`: the median of forty runs, and where the middle
eight of ten lie.

![Latency against the length of a log](pictures/latency-by-log.svg)

![Latency against the size of the corpus](pictures/latency-by-corpus.svg)"""

_ELSEWHERE: Final = """
## Measured elsewhere

- In a browser (first paint, keystrokes, large graphs, the size of the bundle):
  [frontend-example/README.md](../frontend-example/README.md).
- Among hostile clients: how long a well-behaved one waits is printed, and the server's memory is
  bounded, by `.ci/run --long` (`tests/hostile`). So are ten minutes of everything at once, without
  growth of memory, descriptors, threads or tasks (`tests/test_soak.py`).
- From a record in a watched file to its subscribers, within a second:
  `tests/server/test_importing.py`."""


@dataclass(slots=True)
class Report:
    """What one run of the suite found.

    arguments: of the command line, as far as they choose what is measured.
    is_whole: no area was left out by them.
    failed: areas that could not be measured, with the reason.
    seconds: how long each area took.
    """

    scale: str
    arguments: str
    machine: dict[str, str]
    titles: dict[str, str]
    is_whole: bool = True
    load_before: str = ""
    load_after: str = ""
    figures: list[Figure] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def missed(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.met is False]

    def as_json(self) -> str:
        """Everything, for a program."""
        document = {
            "scale": self.scale,
            "machine": self.machine,
            "load": {"before": self.load_before, "after": self.load_after},
            "seconds": self.seconds,
            "failed": self.failed,
            "figures": [figure.as_json() for figure in self.figures],
        }
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"

    def as_markdown(self) -> str:
        """The page of the documentation."""
        return "\n".join(self._markdown())

    def _markdown(self) -> Iterator[str]:
        yield _PREFACE.format(arguments=self.arguments)
        yield from ("## Machine", "", "| | |", "|---|---|")
        for name, value in self.machine.items():
            yield f"| {name} | {value} |"
        yield f"| Load before, after | {self.load_before}; {self.load_after} |"
        yield f"\nScale: {self.scale}.\n"
        yield "## Limits\n"
        limited = [figure for figure in self.figures if figure.met is not None]
        yield f"{len(limited) - len(self.missed)} of {len(limited)} figures with a limit meet it."
        yield from ("" if not self.missed else "Not met:", "")
        for figure in self.missed:
            yield f"- {figure.area}: {figure.name}: {_reason(figure)}"
        for area, reason in self.failed.items():
            yield f"- {area} could not be measured: {reason}"
        if self.is_whole:
            yield _PICTURES
        for area, title in self.titles.items():
            figures = [figure for figure in self.figures if figure.area == area]
            if figures:
                yield f"\n## {title}\n"
                yield from _table(figures)
        if self.is_whole:
            yield _ELSEWHERE
        yield ""


def area_as_text(figures: Sequence[Figure]) -> str:
    """One area for a terminal."""
    rows = [[cell.replace("**", "") for cell in _cells(figure)] for figure in figures]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    lines = []
    for row in (list(_COLUMNS), *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _table(figures: Sequence[Figure]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "|---|--:|--:|--:|--:|---|--:|--:|--:|---|"
    for figure in figures:
        yield f"| {' | '.join(_cells(figure))} |"
    noted = [figure for figure in figures if figure.note]
    if noted:
        yield ""
    for figure in noted:
        yield f"- {figure.name}: {figure.note}."


def _cells(figure: Figure) -> list[str]:
    ratio = figure.ratio
    return [
        figure.name,
        figure.ours.shown(),
        figure.ours.spread(),
        figure.ours.cpu(),
        _limit(figure.limit),
        figure.peer_name,
        "" if figure.peer is None else figure.peer.shown(),
        "" if ratio is None else f"{ratio.shown()} ({ratio.spread()})",
        _limit(figure.ratio_limit),
        _VERDICTS[figure.met],
    ]


def _limit(limit: Limit | None) -> str:
    return "" if limit is None else limit.shown()


def _reason(figure: Figure) -> str:
    bounds = (("", figure.ours, figure.limit), ("ratio ", figure.ratio, figure.ratio_limit))
    return "; ".join(
        f"{what}{sample.shown()}, limit {limit.shown()}"
        for what, sample, limit in bounds
        if sample is not None and limit is not None and not limit.holds(sample)
    )
