"""What fresh documents are scored by: the numbers of the committed index, soon found."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import tantivy

from providers.tantivy.documents import tokens_of
from providers.tantivy.fresh import Statistics
from providers.tantivy.index import TantivyIndex
from sessiongraph.search.ports import Watermark
from tests.contracts.search_index import learn, says
from tests.plain_store import run

SAID = ["alpha beta beta", "alpha 缓存", "gamma restoreFloor of a longer text", "alpha"]


class Counting:
    """A searcher that counts the tokens it is asked for."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self._searcher = searcher
        self.asked = 0
        self.num_docs = searcher.num_docs

    def doc_freq(self, field: str, token: str) -> int:
        self.asked += 1
        return self._searcher.doc_freq(field, token)


def searcher_of(path: Path) -> tantivy.Searcher:
    async def build() -> None:
        index = TantivyIndex.open(path, 16 << 20)
        await index.apply([learn("a", *(says(n, text, n) for n, text in enumerate(SAID)))])
        await index.commit(Watermark(1))
        await index.close()

    run(build())
    return tantivy.Index.open(str(path / "segments")).searcher()


def test_any_token_that_the_index_holds_tells_the_same(tmp_path: Path) -> None:
    searcher = searcher_of(tmp_path / "index")
    documents = searcher.num_docs  # the watermark is one of them
    usual = sum(tokens_of(text).count(" ") - 1 for text in SAID) / documents
    for tokens in (["alpha"], ["nowhere", "gamma"], ["缓存"], ["of", "alpha", "alpha"]):
        statistics = Statistics(searcher)
        statistics.learn(tokens)
        assert math.isclose(statistics.usual_length, usual, rel_tol=1e-6)
        for token, holding in (("alpha", 3), ("gamma", 1), ("nowhere", 0)):
            rarity = math.log(1 + (documents - holding + 0.5) / (holding + 0.5))
            assert math.isclose(statistics.rarity(token), rarity)


def test_an_index_that_holds_none_of_them_tells_what_is_usual(tmp_path: Path) -> None:
    searcher = searcher_of(tmp_path / "index")
    statistics = Statistics(searcher)
    assert not statistics.are_known
    statistics.learn(["nowhere"])
    assert statistics.are_known
    assert statistics.usual_length == 100
    assert statistics.rarity("alpha") < statistics.rarity("nowhere")


def test_only_so_many_tokens_are_looked_for(tmp_path: Path) -> None:
    searcher: Any = Counting(searcher_of(tmp_path / "index"))
    Statistics(searcher).learn(f"nowhere{number}" for number in range(100_000))
    assert searcher.asked == 100


def test_an_empty_index_tells_what_is_usual(tmp_path: Path) -> None:
    async def check() -> None:
        index = TantivyIndex.open(tmp_path / "index", 16 << 20)
        await index.close()

    run(check())
    statistics = Statistics(tantivy.Index.open(str(tmp_path / "index/segments")).searcher())
    statistics.learn(["alpha"])
    assert statistics.usual_length == 100
    assert statistics.rarity("alpha") > 0
