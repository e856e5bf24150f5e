"""Random documents that fit a schema, with arguments that mean something to the sample sessions."""

from __future__ import annotations

import random
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLSchema,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
)

SESSIONS = ("harbor-ledger-migration", "harbor-retry", "harbor-release", "harbor-retry-fork-a")
MOST_FIELDS = 4


def random_document(schema: GraphQLSchema, seed: int) -> str:
    """The same document for the same seed."""
    maker = _Maker(schema, random.Random(seed))
    query = maker.selection(schema.query_type, 5)
    return f"query {query} {' '.join(maker.fragments)}"


class _Maker:
    def __init__(self, schema: GraphQLSchema, chance: random.Random) -> None:
        self._schema = schema
        self._chance = chance
        self._names = 0
        self.fragments: list[str] = []

    def selection(self, parent: Any, levels: int) -> str:
        parts = [self._field(parent, levels) for _ in range(self._chance.randint(1, MOST_FIELDS))]
        if is_abstract_type(parent):
            possible = list(self._schema.get_possible_types(parent))
            few = self._chance.sample(possible, min(1, len(possible)))
            parts += [f"... on {each.name} {self.selection(each, levels)}" for each in few]
        if self._chance.random() < 0.2:
            parts.append(self._spread(parent, levels))
        return "{ " + " ".join(parts) + " }"

    def _spread(self, parent: Any, levels: int) -> str:
        name = self._name()
        self.fragments.append(f"fragment {name} on {parent.name} {self.selection(parent, levels)}")
        wanted = self._chance.choice(["", "", " @include(if: true)", " @skip(if: true)"])
        return f"...{name}{wanted}"

    def _field(self, parent: Any, levels: int) -> str:
        fields = {} if not hasattr(parent, "fields") else parent.fields
        chosen = [
            (name, field)
            for name, field in fields.items()
            if levels > 0 or is_leaf_type(get_named_type(field.type))
        ]
        if not chosen:
            return "__typename"
        name, field = self._chance.choice(chosen)
        named = get_named_type(field.type)
        inner = "" if is_leaf_type(named) else self.selection(named, levels - 1)
        alias = self._name() if named.name != "JSON" else f"json_{self._name()}"
        return f"{alias}: {name}{self._arguments(name, field)} {inner}"

    def _name(self) -> str:
        self._names += 1
        return f"a{self._names}"

    def _arguments(self, name: str, field: GraphQLField) -> str:
        chance = self._chance
        session = f'"{chance.choice(SESSIONS)}"'
        values = {
            "id": session,
            "sessionId": session,
            "ids": f'[{session}, "nowhere"]',
            "query": '"key"',
            "text": '"hello"',
            "limit": str(chance.randint(1, 5)),
            "seq": str(chance.randint(0, 5)),
            "keys": '["title", "todos"]',
        }
        if name == "event":
            values |= {each: str(chance.randint(0, 5)) for each in ("before", "after")}
        given = [f"{each}: {values[each]}" for each in field.args if each in values]
        pages = [each for each in ("first", "last") if each in field.args]
        if pages:
            given.append(f"{chance.choice(pages)}: {chance.randint(1, 6)}")
        return f"({', '.join(given)})" if given else ""
