"""Every provider of the full-text index, held to its contract; a new one is one line here."""

from __future__ import annotations

from pathlib import Path

import pytest

from providers.tantivy.index import TantivyIndex
from sessiongraph.search.ports import SearchIndex
from tests.contracts.search_index import Indexes, Provider, SearchIndexContract
from tests.plain_search import PlainIndex


def _open_plain(path: Path) -> SearchIndex:
    return PlainIndex()


def _open_tantivy(path: Path) -> SearchIndex:
    return TantivyIndex.open(path, 16 << 20)


PROVIDERS = [
    pytest.param(Provider("plain", _open_plain, durable=False), id="plain"),
    pytest.param(Provider("tantivy", _open_tantivy, durable=True), id="tantivy"),
]


@pytest.fixture(scope="module", params=PROVIDERS)
def indexes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Indexes:
    provider: Provider = request.param
    return Indexes(provider, tmp_path_factory.mktemp(provider.name))


class TestSearchIndex(SearchIndexContract):
    pass
