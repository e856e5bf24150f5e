"""The shapes of planned answers: objects of known members, made and written faster than dicts.

A shape belongs to a sequence of response names, which a client chooses, so only a bounded number of
them is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import msgspec

KEPT_SHAPES: Final = 1024
"""Shapes that are remembered."""


@lru_cache(maxsize=KEPT_SHAPES)
def answer_type(names: tuple[str, ...]) -> Callable[..., msgspec.Struct]:
    """Makes objects of values in the order of these names, which stand under them in JSON."""
    fields = [f"_{place}" for place in range(len(names))]
    return msgspec.defstruct(
        "Answer", fields, rename=dict(zip(fields, names, strict=True)), gc=False
    )


def members_of(answer: msgspec.Struct) -> dict[str, Any]:
    """The same as a dict."""
    names = zip(answer.__struct_encode_fields__, answer.__struct_fields__, strict=True)
    return {name: getattr(answer, field) for name, field in names}
