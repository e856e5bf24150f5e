"""Which scope each operation needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest
from graphql import (
    GraphQLObjectType,
    OperationDefinitionNode,
    OperationType,
    build_ast_schema,
    parse,
)

from schema.export import sdl
from schema.scopes import NEEDED, OF_THE_WHOLE, require
from sessiongraph.access import EVERYTHING, Grant, Scope
from sessiongraph.errors import Forbidden

READ, WRITE, ADMIN = (Grant(scope) for scope in Scope)
SOME = Grant(Scope.ADMIN, ("/work",))


def allowed(grant: Grant, document: str) -> bool:
    node = parse(document)
    (operation,) = (each for each in node.definitions if isinstance(each, OperationDefinitionNode))
    try:
        require(grant, node, operation)
    except Forbidden:
        return False
    return True


def root_fields_served() -> Mapping[OperationType, set[str]]:
    served = build_ast_schema(parse(sdl()))
    roots = {
        kind: cast(GraphQLObjectType, served.get_root_type(kind))
        for kind in (OperationType.MUTATION, OperationType.SUBSCRIPTION)
    }
    return {kind: set(root.fields) for kind, root in roots.items()}


def test_every_field_that_writes_or_streams_is_in_the_table_and_nothing_else() -> None:
    assert {kind: set(fields) for kind, fields in NEEDED.items()} == root_fields_served()
    assert set().union(*root_fields_served().values()) >= OF_THE_WHOLE


def test_no_mutation_is_for_readers() -> None:
    assert Scope.READ not in NEEDED[OperationType.MUTATION].values()


def test_a_field_that_somebody_forgot_is_for_admins() -> None:
    forgotten = "mutation { forgotten }"
    assert [allowed(grant, forgotten) for grant in (READ, WRITE, ADMIN)] == [False, False, True]


@pytest.mark.parametrize(
    ("document", "least"),
    [
        ("{ sessions { nodes { id } } }", READ),
        ("{ __schema { types { name } } }", READ),
        ("mutation { __typename }", READ),
        ("subscription { corpus { kind } }", READ),
        ("mutation { closeSession { a } }", WRITE),
        ("mutation { harmless: deleteSession { a } }", ADMIN),
        ("mutation { closeSession { a } deleteSession { a } }", ADMIN),
        ("mutation ($no: Boolean!) { deleteSession @include(if: $no) { a } }", ADMIN),
        ("mutation { ... { ... on Mutation { deleteSession { a } } } }", ADMIN),
        (
            "mutation { closeSession { a } ...A } fragment A on Mutation { ...B } "
            "fragment B on Mutation { deleteSession { a } }",
            ADMIN,
        ),
        ("mutation { closeSession { a } } fragment U on Mutation { deleteSession { a } }", WRITE),
        ("subscription { ...S } fragment S on Subscription { importProgress { a } }", ADMIN),
    ],
)
def test_the_fields_at_the_root_decide_however_they_are_spelt(document: str, least: Grant) -> None:
    order = list(Scope)
    for grant in (READ, WRITE, ADMIN):
        reaches = order.index(grant.scope) >= order.index(least.scope)
        assert allowed(grant, document) is reaches


def test_what_concerns_all_directories_is_not_for_a_grant_of_some() -> None:
    assert allowed(SOME, "mutation { deleteSession { a } }")
    assert not allowed(SOME, "mutation { importRecordings { a } }")
    assert not allowed(SOME, "subscription { importProgress { a } }")
    assert allowed(EVERYTHING, "mutation { importRecordings { a } }")


def test_fragments_that_spread_each_other_over_and_over_cost_one_look_each() -> None:
    layers = 60
    fragments = [f"fragment F{n} on Mutation {{ ...F{n + 1} ...F{n + 1} }}" for n in range(layers)]
    last = f"fragment F{layers} on Mutation {{ closeSession {{ a }} }}"
    assert allowed(WRITE, "\n".join(["mutation { ...F0 }", *fragments, last]))
