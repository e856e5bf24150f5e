"""How many words people have written in a session: a projection in a package of its own."""

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import content_of, is_human_prompt, text_of
from sessiongraph.projections import Projection


def count(words: int, event: SessionEvent) -> int:
    """The words so far and those of one more message; the same object when nobody wrote it."""
    if not is_human_prompt(event.data):
        return words
    return words + len(text_of(content_of(event.type, event.data)).split())


WORD_COUNT = Projection(
    "wordCount",
    1,
    init=lambda: 0,
    apply=count,
    view=lambda words: {"words": words},
    state_schema=int,
    view_schema=dict[str, int],
    event_types={"user/message"},
)
