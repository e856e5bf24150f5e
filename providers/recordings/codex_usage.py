"""Tokens in Codex's files: running totals, reported again whenever the screen is painted.

What one call of the model used is the difference between two totals. A report that repeats the
totals says nothing new. Where the totals start again (they do after some compactions) the report
of the last call alone stands.
"""

from __future__ import annotations

from typing import Any, Final

_NAMES: Final = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
)

Totals = list[int]
"""Input, cached input, input written to the cache, and output, since the session began."""


def totals_in(info: Any) -> Totals | None:
    """The running totals of a report, None where it has none."""
    return _numbers(info.get("total_token_usage")) if isinstance(info, dict) else None


def used_since(before: Totals | None, totals: Totals, info: Any) -> Totals | None:
    """What the last call used; None where the report only repeats an earlier one."""
    if totals == before:
        return None
    used = [now - then for now, then in zip(totals, before or [0] * len(totals), strict=True)]
    if min(used) < 0:
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        return _numbers(last) or totals
    return used


def as_usage(used: Totals) -> dict[str, int]:
    """In our vocabulary, where cached input is counted apart from the rest."""
    inputs, cached, written, output = used
    return {
        "inputTokens": max(0, inputs - cached - written),
        "outputTokens": output,
        "cacheReadTokens": cached,
        "cacheWriteTokens": written,
    }


def context_window(info: Any) -> int | None:
    """The model's context window that a report names."""
    value = info.get("model_context_window") if isinstance(info, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _numbers(usage: Any) -> Totals | None:
    if not isinstance(usage, dict):
        return None
    values = [usage.get(name) for name in _NAMES]
    if not any(isinstance(value, int) for value in values):
        return None
    return [v if isinstance(v, int) and not isinstance(v, bool) else 0 for v in values]
