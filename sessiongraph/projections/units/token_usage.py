"""``tokenUsage``: tokens that the model calls of the session reported, summed up.

A step may report more than once, in its stream and again in its message, or once for each try; a
later report for the same turn and step takes the place of the one before.
"""

from __future__ import annotations

from typing import Final, TypedDict

from sessiongraph.event import DeltaRun, SessionEvent
from sessiongraph.payloads import Usage
from sessiongraph.projections.unit import Projection
from sessiongraph.projections.units.model_output import OUTPUT_TYPES, step_of, usage_in


class TokenSums(TypedDict):
    """Tokens; cached input is counted apart from the rest of the input."""

    uncachedInputTokens: int
    outputTokens: int
    cacheReadTokens: int
    cacheWriteTokens: int


class LastReport(TypedDict):
    """The step that reported last, and what it did."""

    turn: int
    step: int
    tokens: TokenSums


class TokenUsageState(TypedDict):
    """last: None before the first report."""

    totals: TokenSums
    last: LastReport | None


_NONE: Final[TokenSums] = {
    "uncachedInputTokens": 0,
    "outputTokens": 0,
    "cacheReadTokens": 0,
    "cacheWriteTokens": 0,
}


def _apply(state: TokenUsageState, event: SessionEvent) -> TokenUsageState:
    usage = usage_in(event)
    step = None if usage is None else step_of(event.data)
    if usage is None or step is None:
        return state
    tokens = _tokens_of(usage)
    last = state["last"]
    replaced = _NONE
    if last is not None and (last["turn"], last["step"]) == step:
        replaced = last["tokens"]
        if replaced == tokens:
            return state
    return {
        "totals": _exchanged(state["totals"], replaced, tokens),
        "last": {"turn": step[0], "step": step[1], "tokens": tokens},
    }


def _tokens_of(usage: Usage) -> TokenSums:
    return {
        "uncachedInputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
    }


def _exchanged(totals: TokenSums, old: TokenSums, new: TokenSums) -> TokenSums:
    return {
        "uncachedInputTokens": totals["uncachedInputTokens"]
        - old["uncachedInputTokens"]
        + new["uncachedInputTokens"],
        "outputTokens": totals["outputTokens"] - old["outputTokens"] + new["outputTokens"],
        "cacheReadTokens": totals["cacheReadTokens"]
        - old["cacheReadTokens"]
        + new["cacheReadTokens"],
        "cacheWriteTokens": totals["cacheWriteTokens"]
        - old["cacheWriteTokens"]
        + new["cacheWriteTokens"],
    }


def _apply_run(state: TokenUsageState, _run: DeltaRun) -> TokenUsageState:
    """No delta of a run reports usage."""
    return state


TOKEN_USAGE: Final = Projection[TokenUsageState](
    key="tokenUsage",
    state_version=1,
    init=lambda: {"totals": _NONE, "last": None},
    apply=_apply,
    view=lambda state: state["totals"],
    state_schema=TokenUsageState,
    view_schema=TokenSums,
    event_types=OUTPUT_TYPES,
    apply_run=_apply_run,
)
