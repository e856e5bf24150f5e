"""``python -m benchmarks``: measure, print, and write what was found.

Every area runs in a process of its own and in a folder that is removed behind it. An area that
fails is reported and does not stop the others. The exit code is 0 when everything could be
measured, whether or not limits are met: a shared machine must not decide whether a change is good.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Final

from benchmarks import (
    appending,
    carrying,
    following,
    forking,
    http_appends,
    importing,
    lineage,
    listing,
    living,
    projections,
    reading,
    reference,
    replacing,
    searching,
    session_lists,
    starting,
    transcripts,
)
from benchmarks.machine import description, load
from benchmarks.measuring import in_fresh_process
from benchmarks.report import Report, area_as_text
from benchmarks.scale import FULL, MODERATE, QUICK, Scale

AREAS: Final[dict[str, tuple[ModuleType, str]]] = {
    module.AREA: (module, title)
    for module, title in (
        (starting, "Starting"),
        (reading, "Reading a session"),
        (session_lists, "Lists of sessions"),
        (lineage, "Lineage"),
        (replacing, "Replacing"),
        (carrying, "References"),
        (reference, "The reference's shapes"),
        (importing, "Importing"),
        (transcripts, "Transcripts and watching"),
        (appending, "Appending"),
        (http_appends, "Appending over HTTP"),
        (living, "Live sessions"),
        (forking, "Forking and deleting"),
        (following, "Following"),
        (listing, "List answers over HTTP"),
        (projections, "Projections"),
        (searching, "Searching"),
    )
}


def main() -> int:
    """Run what the command line asks for."""
    options = _options()
    scale: Scale = options.scale
    report = Report(
        scale.name,
        _arguments(options),
        description(),
        {area: title for area, (_, title) in AREAS.items()},
        is_whole=not options.only,
        load_before=load(),
    )
    for area in options.only or [area for area in AREAS if area not in scale.left_out]:
        begun = time.perf_counter()
        print(f"\n{area} …", flush=True)
        try:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                figures = in_fresh_process(AREAS[area][0].measure, scale, Path(folder))
        except Exception as error:  # noqa: BLE001 - one area must not stop the others
            report.failed[area] = f"{type(error).__name__}: {error}"
            print(f"could not be measured: {report.failed[area]}")
        else:
            report.figures += figures
            print(area_as_text(figures))
        report.seconds[area] = round(time.perf_counter() - begun, 1)
        print(f"({report.seconds[area]:.0f} s)")
    report.load_after = load()
    if options.json is not None:
        options.json.write_text(report.as_json(), encoding="utf-8")
    if options.markdown is not None:
        options.markdown.write_text(report.as_markdown(), encoding="utf-8")
    print(f"\n{len(report.missed)} limits missed, {len(report.failed)} areas not measured")
    return 1 if report.failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    scales = parser.add_mutually_exclusive_group()
    for scale, meaning in (
        (QUICK, "short logs and few runs, less than two minutes"),
        (FULL, "many runs, a file of 2 GB; an hour or so"),
    ):
        scales.add_argument(
            f"--{scale.name}", dest="scale", action="store_const", const=scale, help=meaning
        )
    parser.set_defaults(scale=MODERATE)
    parser.add_argument(
        "--only", metavar="NAME", action="append", choices=list(AREAS), help=f"{', '.join(AREAS)}"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure as JSON")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write tables as Markdown")
    parser.add_argument(
        "--folder", metavar="DIR", type=Path, help="where corpora are made (the system's own)"
    )
    return parser.parse_args()


def _arguments(options: argparse.Namespace) -> str:
    words = [] if options.scale is MODERATE else [f"--{options.scale.name}"]
    words += [f"--only {name}" for name in options.only or ()]
    return "".join(f" {word}" for word in words)


if __name__ == "__main__":
    raise SystemExit(main())
