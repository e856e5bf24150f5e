"""In which form a client wants its answer: what the ``Accept`` header says.

Three forms are served: a GraphQL response under its own media type, the same under that of JSON
(for clients that were written before it had one), and a stream of server-sent events. Only the last
can carry a subscription. A client that accepts anything gets JSON; a stream is for those who name
it, since nobody else would know when it ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import Final


class Form(StrEnum):
    """The media type of an answer."""

    JSON = "application/json"
    RESPONSE = "application/graphql-response+json"
    EVENTS = "text/event-stream"


_MEANT: Final = {
    "*/*": Form.JSON,
    "application/*": Form.JSON,
    "text/*": Form.EVENTS,
    **{form.value: form for form in Form},
}


def accepted_forms(accept: Iterable[str]) -> list[Form]:
    """The forms that a client accepts, the one that it likes best first; none when it likes none.

    accept: the values of the header; none of them, or nothing in them, means JSON.
    """
    ranges = [each.strip() for value in accept for each in value.split(",") if each.strip()]
    if not ranges:
        return [Form.JSON]
    liked: dict[Form, float] = {}
    for media_range in ranges:
        name, *parameters = (part.strip().lower() for part in media_range.split(";"))
        form = _MEANT.get(name)
        quality = _quality(parameters)
        if form is not None and quality > liked.get(form, 0):
            liked[form] = quality
    # Sorting keeps the client's order among those that it likes equally well.
    return sorted(liked, key=lambda form: -liked[form])


def _quality(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                quality = float(value)
            except ValueError:
                return 0
            return quality if math.isfinite(quality) else 0
    return 1
