from __future__ import annotations

import pytest
from graphql import GraphQLSyntaxError, get_introspection_query, parse

from server.limits import DocumentLimits, Extent, operation_extents
from sessiongraph.errors import BadUserInput


def extent_of(document: str) -> Extent:
    (extent,) = operation_extents(parse(document))
    return extent


@pytest.mark.parametrize(
    ("document", "depth", "aliases"),
    [
        ("{ a }", 1, 0),
        ("{ a { b } c }", 2, 0),
        ("{ x: a { y: b } z: c }", 2, 3),
        ("{ ... on T { a { b } } }", 2, 0),
        ("{ ...f a } fragment f on T { b { x: c } }", 2, 1),
        ("{ a { ...f ...f } } fragment f on T { x: b { c } }", 3, 2),
        ("{ a { ...f } } fragment f on T { b { ...g } } fragment g on T { c { d } }", 4, 0),
        ("{ ...nowhere a }", 1, 0),
        ("{ __schema { types { fields { name } } } }", 0, 0),
        ("{ x: __schema { y: types { name } } }", 0, 2),
        ("{ ...f } fragment f on T { a { ...f } x: b }", 1, 1),
    ],
)
def test_depth_and_aliases_of_an_operation(document: str, depth: int, aliases: int) -> None:
    assert extent_of(document) == Extent(depth, aliases)


def test_the_common_introspection_query_has_no_depth() -> None:
    assert extent_of(get_introspection_query()).depth == 0


def test_every_operation_of_a_document_is_looked_at() -> None:
    document = parse("query A { a } query B { a { x: b } }")
    assert list(operation_extents(document)) == [Extent(1, 0), Extent(2, 1)]


def test_fragments_that_double_in_every_layer_are_counted_without_being_walked_each_time() -> None:
    layers = 500
    fragments = "".join(
        f"fragment f{n} on T {{ x: a ...f{n + 1} ...f{n + 1} }}\n" for n in range(layers)
    )
    extent = extent_of(f"{{ ...f0 }} {fragments} fragment f{layers} on T {{ x: a }}")
    assert extent == Extent(1, 2 ** (layers + 1) - 1)


def test_fragments_in_a_circle_end() -> None:
    document = "{ ...f } fragment f on T { a { ...g } } fragment g on T { b { ...f } }"
    assert extent_of(document).depth >= 2


LIMITS = DocumentLimits(tokens=200, depth=5, aliases=3)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "{ inner { inner { inner { inner { inner { name } } } } } }",
            "the operation is more than 5 levels deep (max_query_depth)",
        ),
        (
            "{ a: name b: name c: name d: name }",
            "the operation has more than 3 aliases (max_query_aliases)",
        ),
        (
            f"{{ {'name ' * 200} }}",
            "the document has more than 200 tokens (max_query_tokens)",
        ),
    ],
)
def test_a_document_over_a_limit_is_refused_with_its_name(query: str, message: str) -> None:
    with pytest.raises(BadUserInput) as refusal:
        LIMITS.parse(query)
    assert refusal.value.message == message


def test_a_document_at_the_limits_is_read() -> None:
    query = "{ inner { inner { inner { inner { a: name b: name c: name } } } } }"
    assert LIMITS.parse(query) == parse(query)


def test_a_syntax_error_stays_one() -> None:
    with pytest.raises(GraphQLSyntaxError):
        LIMITS.parse("{ inner {")
