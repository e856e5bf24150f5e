"""Every provider of checkpoints, held to its contract; a new one is one line of PROVIDERS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.ports import LogStore
from sessiongraph.projections.ports import CheckpointStore
from tests.contracts.checkpoint_store import (
    CheckpointStoreContract,
    Provider,
    Stores,
    durable_or_skip,
)
from tests.plain_store import PlainLogStore
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore


def _open_plain(path: Path) -> tuple[LogStore, CheckpointStore]:
    return PlainLogStore(), PlainCheckpointStore()


def _open_sqlite(path: Path) -> tuple[LogStore, CheckpointStore]:
    logs = SqliteLogStore.open(path)
    return logs, SqliteCheckpointStore(logs)


PROVIDERS = [
    pytest.param(Provider("plain", _open_plain, durable=False), id="plain"),
    pytest.param(Provider("sqlite", _open_sqlite, durable=True), id="sqlite"),
]


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    provider: Provider = request.param
    return Stores(provider, tmp_path_factory.mktemp(provider.name))


@pytest.fixture(scope="module")
def durable_stores(stores: Stores) -> Iterator[Stores]:
    yield from durable_or_skip(stores)


class TestCheckpointStore(CheckpointStoreContract):
    pass
