"""Which lines of a Claude Code file belong to subagents that were recorded inside of it.

Older versions wrote a subagent's records between those of the session that called it: each is
marked as a side chain and names the record before it. A chain begins with a record that names
none. What cannot be followed to the beginning of a chain stays with the first session.
"""

from __future__ import annotations

from typing import Final

import msgspec

from providers.recordings.claude_records import Envelopes, text_in

_RECORDS_REMEMBERED: Final = 512


class Sidechains:
    """Sorts the lines of one file; ``memory`` is that of an earlier reading."""

    def __init__(self, envelopes: Envelopes, memory: bytes | None) -> None:
        self._envelopes = envelopes
        self._chains: dict[str, str] = {}
        if memory:
            self._chains = msgspec.json.decode(memory, type=dict[str, str])

    def memory(self) -> bytes:
        return msgspec.json.encode(self._chains)

    def part_of(self, line: bytes) -> str | None:
        """The chain that a line belongs to, None for the first session of the file."""
        record = self._envelopes.look(line)
        if record is None or record.is_sidechain is not True:
            return None
        uuid = text_in(record.uuid)
        agent, parent = text_in(record.agent_id), text_in(record.parent_uuid)
        if agent is not None:
            key: str | None = f"agent-{agent}"
        elif parent is None:
            key = None if uuid is None else f"sidechain-{uuid}"
        else:
            key = self._chains.get(parent)
        if key is not None and uuid is not None:
            self._chains.pop(uuid, None)
            self._chains[uuid] = key
            if len(self._chains) > _RECORDS_REMEMBERED:
                del self._chains[next(iter(self._chains))]
        return key
