"""Every provider of the log store, held to its contract; a new one is one line of PROVIDERS."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from sessiongraph.ports import LogStore
from tests.contracts.confined_reads import ConfinedReadsContract
from tests.contracts.log_stage import Provider, Stores, durable_or_skip
from tests.contracts.log_store import LogStoreContract
from tests.plain_store import PlainLogStore


def _open_plain(path: Path) -> LogStore:
    return PlainLogStore()


def _open_sqlite(path: Path) -> LogStore:
    store: LogStore = import_module("providers.sqlite.log_store").SqliteLogStore.open(path)
    return store


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


_needs_sqlite = pytest.mark.skipif(
    not _exists("providers.sqlite.log_store"),
    reason="providers.sqlite.log_store is not written yet",
)

PROVIDERS = [
    pytest.param(Provider("plain", _open_plain, durable=False), id="plain"),
    pytest.param(Provider("sqlite", _open_sqlite, durable=True), id="sqlite", marks=_needs_sqlite),
]


@pytest.fixture(scope="module", params=PROVIDERS)
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stores:
    provider: Provider = request.param
    return Stores(provider, tmp_path_factory.mktemp(provider.name))


@pytest.fixture(scope="module")
def durable_stores(stores: Stores) -> Iterator[Stores]:
    yield from durable_or_skip(stores)


class TestLogStore(LogStoreContract):
    pass


class TestConfinedReads(ConfinedReadsContract):
    pass
