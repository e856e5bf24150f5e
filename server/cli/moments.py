"""Moments as people write them on a command line."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Final

import rich_click as click

_AGO: Final = re.compile(r"([0-9]{1,6})([mhdw])")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment_since(written: str) -> int:
    """A date, a date with a time, or a span back from now, in ms since the epoch.

    Raises:
        UsageError: it is none of these.
    """
    ago = _AGO.fullmatch(written)
    if ago is not None:
        return int((time.time() - int(ago[1]) * _SECONDS[ago[2]]) * 1000)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise click.UsageError(
            f"--since: {written!r} is no date (2026-11-01, 2026-11-01T09:30) and no span (12h, 30d)"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
