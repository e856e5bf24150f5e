"""The checkpoints of projections in a check of the store: compared with a fold, and removed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.verification import Fault
from server.wiring import Services, all_projections
from sessiongraph.projections.verification import CheckpointFault, checkpoint_faults

CHECKPOINT_FAULT: Final = "checkpoints"
"""What a fault says that is one of a checkpoint."""


async def verify_checkpoints(services: Services, on_progress: Callable[[int], None]) -> list[Fault]:
    """What is wrong with the checkpoints; works beside whoever writes them.

    Raises:
        PersistenceFailed: the store cannot be read.
    """
    return [
        Fault(fault.log.session_id, CHECKPOINT_FAULT, f"{fault.key}: {fault.detail}")
        async for fault in _faults(services, on_progress)
    ]


async def remove_checkpoints(services: Services) -> None:
    """Remove the rows that are wrong: whoever misses one folds the log.

    Raises:
        PersistenceFailed: the disk refused.
    """
    checkpoints = SqliteCheckpointStore(services.store)
    async for fault in _faults(services, lambda _: None):
        await checkpoints.write(fault.log, [], gone=[fault.key])


def _faults(
    services: Services, on_progress: Callable[[int], None]
) -> AsyncIterator[CheckpointFault]:
    checkpoints = SqliteCheckpointStore(services.store)
    return checkpoint_faults(services.store, checkpoints, all_projections().routes, on_progress)
