"""A process that does nothing but analyse texts for the index of another one.

Analysis is computing, and in the process that serves it would take turns with everything else.
This one is started by :mod:`providers.tantivy.analysing_apart`, says that it is there by an empty
message, and ends when its input does, when nobody takes its answers, or when it was not asked for a
while. It waits longer for its first request, since the one that it was started for did not wait.
"""

from __future__ import annotations

from typing import IO, Final

from providers.processes import IDLE_S, answering, can_be_read
from providers.tantivy.analysed import analysables_of, analysed, receive, send
from sessiongraph.event import SessionEvent

FIRST_ASKED_WITHIN_S: Final = 600
"""How long it waits for the first request."""


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Analyse what comes until nothing comes any more.

    Nobody asks twice without having heard the first answer, so that what is not read of the
    requests is in the pipe and not in a buffer.
    """
    send(answers, [])
    patience_s = FIRST_ASKED_WITHIN_S
    while can_be_read(requests, patience_s):
        request = receive(requests)
        if request is None:
            return
        events = (SessionEvent(seq, kind, 0, text) for seq, kind, text in analysables_of(request))
        send(answers, [analysed(event) for event in events])
        patience_s = IDLE_S


def main() -> None:
    """Serve the process that started this one."""
    with answering() as (requests, answers):
        serve(requests, answers)


if __name__ == "__main__":
    main()
