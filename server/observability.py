"""Logging: everything to stderr, readable on a terminal, one JSON object a line anywhere else.

What is logged at the level info and above says what happened, to which session, how long it took;
it never quotes what a session or a request says. The traceback of a fault of ours is the exception:
it is logged in full, because nobody could mend the fault without it.

Nothing of the program writes log lines to stdout, which belongs to data. The standard library's
loggers (uvicorn's, asyncio's) pass through the same processors as our own.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

import structlog
from structlog.typing import Processor

_SHARED: Final[tuple[Processor, ...]] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure_logging(level: str, form: str = "auto") -> None:
    """Send log messages of ``level`` and above to stderr; may be called again.

    form: ``text`` for people, ``json`` for machines; ``auto``: by whether stderr is a terminal.
    """
    for_people = sys.stderr.isatty() if form == "auto" else form == "text"
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(for_people=for_people),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())


def _renderers(*, for_people: bool) -> tuple[Processor, ...]:
    if for_people:
        # Tracebacks with code and locals take a second to lay out, and the event loop waits for it.
        return (
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        )
    return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
