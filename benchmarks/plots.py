"""``python -m benchmarks.plots FOLDER``: how latency grows with a log, and with the corpus.

Two pictures, each with a line for each question: the median of its runs, and between a tenth and
nine tenths of them a band. What costs only what it returns is flat. All sizes take turns in every
round. Needs matplotlib (``pip install matplotlib``).
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import Sample
from benchmarks.measuring import alternating, in_fresh_process
from benchmarks.reading import asking, questions
from benchmarks.session_lists import listing_of, lists
from benchmarks.stores import build_corpus, build_long_sessions, opened, query_over

Curves = dict[str, dict[int, Sample]]
"""For each question its runs at each size."""

LOGS: Final = (1_000, 10_000, 100_000, 1_000_000)
CORPORA: Final = (1_000, 10_000, 100_000)
_EVENTS_EACH: Final = 2
_ROUNDS: Final = 40
_ASKED_OF_LOGS: Final = (
    "header, title and last seq",
    "event(seq, 25, 25)",
    "trace(seq) in the newest 900 events",
    "surface, last 50",
    "100 events, newest",
    "100 of two types, newest",
    "100 shadowed, oldest",
)
_ASKED_OF_CORPORA: Final = ("by creation", "by activity", "of one cwd", "created in a range")


def main() -> None:
    """Measure both, and draw them into a folder."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as workplace:
        logs = in_fresh_process(of_logs, Path(workplace))
        draw(logs, "events in the log", folder / "latency-by-log.svg")
        corpora = in_fresh_process(of_corpora, Path(workplace))
        draw(corpora, "sessions in the corpus", folder / "latency-by-corpus.svg")


def of_logs(folder: Path) -> Curves:
    """Questions about one session, at each length of its log (events)."""
    path = folder / "logs.db"
    lengths = {str(events): events for events in LOGS}
    in_fresh_process(build_long_sessions, path, lengths, frozenset())

    async def measure() -> Curves:
        curves: Curves = {}
        async with opened(path) as store:
            query = query_over(store)
            for name in _ASKED_OF_LOGS:
                question, _ = questions()[name]
                runs = {each: asking(query, each, question, _ROUNDS) for each in lengths}
                samples = await alternating(_ROUNDS, runs)
                curves[name] = {int(each): sample for each, sample in samples.items()}
        return curves

    return asyncio.run(measure())


def of_corpora(folder: Path) -> Curves:
    """Pages of fifty sessions with their titles, at each size of the corpus (sessions)."""
    paths = {sessions: folder / f"{sessions}.db" for sessions in CORPORA}
    for sessions, path in paths.items():
        in_fresh_process(build_corpus, path, sessions, _EVENTS_EACH)

    async def measure() -> Curves:
        curves: Curves = {}
        async with AsyncExitStack() as stores:
            queries = {
                sessions: query_over(await stores.enter_async_context(opened(path)))
                for sessions, path in paths.items()
            }
            for name in _ASKED_OF_CORPORA:
                selection, order = lists()[name]
                runs = {
                    str(sessions): listing_of(query, selection, order)
                    for sessions, query in queries.items()
                }
                samples = await alternating(_ROUNDS, runs)
                curves[f"50 sessions, {name}"] = {
                    int(each): sample for each, sample in samples.items()
                }
        return curves

    return asyncio.run(measure())


def draw(curves: Curves, size: str, path: Path) -> None:
    """One picture; both axes are logarithmic."""
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for name, samples in curves.items():
        sizes = sorted(samples)
        (line,) = axes.plot(sizes, [samples[each].median for each in sizes], marker="o", label=name)
        axes.fill_between(
            sizes,
            [samples[each].low for each in sizes],
            [samples[each].high for each in sizes],
            color=line.get_color(),
            alpha=0.15,
            linewidth=0,
        )
    axes.set(xscale="log", yscale="log", xlabel=size, ylabel="ms", ylim=(0.01, 20))
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", ncols=2)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sessiongraph"
    from matplotlib import pyplot

    return pyplot


if __name__ == "__main__":
    main()
