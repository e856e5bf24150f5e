"""The head of an answer leaves together with the beginning of its body.

An answer is written in two steps, and each would be a call of the system and a packet of its own,
for which the client is woken twice; for small answers that is a good part of what they cost.
"""

from __future__ import annotations

import asyncio
from typing import Final

from typing_extensions import override

_JOINED: Final = 64 * 1024
"""Size of what is copied to be written with the head; for more, another call costs less."""


class HeadWithBody(asyncio.Transport):
    """The transport of one answer, as who writes it sees it.

    The first thing that is written, which is the head, waits for the second, though no longer than
    until the event loop has come round: the head of a stream does not wait for its first event.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._head: bytes | bytearray | memoryview | None = None
        self._has_begun = False

    @override
    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._head = data
            asyncio.get_running_loop().call_soon(self._let_go)
        elif self._head is not None and len(data) <= _JOINED:
            head, self._head = self._head, None
            self._transport.write(b"".join((head, data)))
        else:
            self._let_go()
            self._transport.write(data)

    @override
    def close(self) -> None:
        self._let_go()
        self._transport.close()

    @override
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def _let_go(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._transport.write(head)
