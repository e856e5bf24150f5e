"""Lists completed by plans: the same answers, byte for byte, as the usual way gives."""

from __future__ import annotations

import asyncio
import gc
import re
import warnings
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import pytest
import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    is_composite_type,
    is_leaf_type,
)
from hypothesis import given
from hypothesis import strategies as st

from schema.declaration import Resolution, always_resolves
from schema.planned_lists import PlannedLists
from schema.response import encode_response
from schema.served import build_schema
from tests.docs.sample_answers import SampleAnswers

ROOT = Path(__file__).parents[2]
T = TypeVar("T")

_TRIES = 20
"""Reading views leaves checkpoints behind, which later reads show."""

USUAL, PLANNED = build_schema(directly=False), build_schema(PlannedLists)


class Samples:
    """The sample sessions, open as long as the module's tests run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(1))
        self._opening = SampleAnswers.open()
        self.services = self._loop.run_until_complete(self._opening.__aenter__())._services
        self.run(self._warm_up())

    async def _warm_up(self) -> None:
        """Open everything that would be opened when it is first needed."""
        await asyncio.to_thread(int)
        async with AsyncExitStack() as observations:
            for _ in range(4):
                await observations.enter_async_context(self.services.query.observe())

    def run(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return self._loop.run_until_complete(awaited())

    def close(self) -> None:
        self._loop.run_until_complete(self._opening.__aexit__(None, None, None))
        self._loop.close()

    def assert_same(self, query: str, **variables: Any) -> bytes:
        """Both ways answer alike; the answer."""
        for _ in range(_TRIES):
            # The last two by plans that are made, and by plans that are kept.
            before, after, made, kept = (
                self.run(answer(schema, query, self.services, variables))
                for schema in (USUAL, USUAL, PLANNED, PLANNED)
            )
            if before == after == self.run(answer(USUAL, query, self.services, variables)):
                assert [made, kept] == [before, before], query
                return before
        raise AssertionError(f"the answer to {query} changes by itself")


@pytest.fixture(scope="module")
def samples() -> Iterator[Samples]:
    opened = Samples()
    yield opened
    opened.close()


async def answer(
    schema: strawberry.Schema, query: str, services: Any, variables: dict[str, Any]
) -> bytes:
    result = await schema.execute(query, variable_values=variables, context_value=services)
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        # Fields that run side by side fail in any order.
        body["errors"] = sorted((error.formatted for error in result.errors), key=str)
    return encode_response(body)


# The schema that is served


DOCUMENTED = [
    match[1]
    for path in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")])
    for match in re.finditer(r"```graphql\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
] + [path.read_text("utf-8") for path in sorted(ROOT.glob("server/graphiql/examples/*.graphql"))]


@pytest.mark.parametrize("query", [each for each in DOCUMENTED if "subscription" not in each])
def test_every_documented_query_is_answered_alike(samples: Samples, query: str) -> None:
    if "mutation" not in query:
        samples.assert_same(query)


def test_what_is_selected_on_condition_follows_the_variables(samples: Samples) -> None:
    query = """query ($with: Boolean!) { sessions { nodes {
        id title @include(if: $with) header { cwd @skip(if: $with) } } } }"""
    first = samples.assert_same(query, **{"with": True})
    second = samples.assert_same(query, **{"with": False})
    assert first != second


def test_failures_inside_of_lists_stay_where_they_are(samples: Samples) -> None:
    query = """{ sessions { nodes { id event(seq: 60) { startSeq }
        trace(seq: 1) { replacementChain } events(first: 300) { nodes { seq } } } } }"""
    assert b'"errors"' in samples.assert_same(query)


IDS = ["harbor-tour", "harbor-retry-fork-a", "harbor-oncall", "harbor-release", "nobody"]


class Questions:
    """Random queries over a schema, all of them valid."""

    def __init__(self, draw: st.DrawFn, schema: GraphQLSchema) -> None:
        self._draw = draw
        self._schema = schema
        self._fields = 0

    def query(self) -> str:
        assert self._schema.query_type is not None
        return self._selection(self._schema.query_type, 0)

    def _selection(self, parent: GraphQLNamedType, depth: int) -> str:
        parts = []
        if isinstance(parent, (GraphQLObjectType, GraphQLInterfaceType)):
            names = self._draw(
                st.lists(
                    st.sampled_from(sorted(parent.fields)), min_size=1, max_size=4, unique=True
                )
            )
            parts += [self._field(parent, name, depth) for name in names]
        if isinstance(parent, (GraphQLUnionType, GraphQLInterfaceType)):
            kinds = sorted(self._schema.get_possible_types(parent), key=lambda kind: kind.name)
            for kind in self._draw(st.lists(st.sampled_from(kinds), max_size=3, unique=True)):
                parts.append(f"... on {kind.name} {self._selection(kind, depth + 1)}")
        parts = [each for each in parts if each]
        if not parts or self._draw(st.integers(0, 3)) == 0:
            parts.append("__typename")
        return "{ " + " ".join(parts) + " }"

    def _field(
        self, parent: GraphQLObjectType | GraphQLInterfaceType, name: str, depth: int
    ) -> str:
        self._fields += 1
        definition = parent.fields[name]
        kind: Any = definition.type
        while isinstance(kind, (GraphQLNonNull, GraphQLList)):
            kind = kind.of_type
        if is_composite_type(kind) and (depth > 5 or self._fields > 40):
            return ""
        arguments = []
        for key, argument in definition.args.items():
            given_value = self._argument(key, argument)
            if given_value is not None:
                arguments.append(f"{key}: {given_value}")
        # An alias of its own, for two of one name may not differ in their arguments.
        called = f"f{self._fields}: {name}"
        if arguments:
            called += f"({', '.join(arguments)})"
        return called if is_leaf_type(kind) else f"{called} {self._selection(kind, depth + 1)}"

    def _argument(self, name: str, argument: GraphQLArgument) -> str | None:
        kind: Any = argument.type
        required = isinstance(kind, GraphQLNonNull)
        if required:
            kind = kind.of_type
        if not required and self._draw(st.booleans()):
            return None
        if isinstance(kind, GraphQLList):
            if name == "ids":
                ids = self._draw(st.lists(st.sampled_from(IDS), max_size=4))
                return "[" + ", ".join(f'"{each}"' for each in ids) + "]"
            return "[]" if required else None
        if isinstance(kind, GraphQLEnumType):
            return self._draw(st.sampled_from(sorted(kind.values)))
        if isinstance(kind, GraphQLInputObjectType):
            return None
        match kind.name:
            case "ID":
                return f'"{self._draw(st.sampled_from(IDS))}"'
            case "Int":
                return str(self._draw(st.integers(-1, 12)))
            case "Boolean":
                return self._draw(st.sampled_from(["true", "false"]))
            case "String":
                return self._draw(st.sampled_from(['""', '"retry"', '"重试"']))
            case _:
                return None


@st.composite
def questions(draw: st.DrawFn) -> str:
    return Questions(draw, USUAL._schema).query()


@given(query=questions())
def test_any_query_is_answered_alike(samples: Samples, query: str) -> None:
    samples.assert_same(query)


# Values as no resolver of ours gives them


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Anything:
    """A value for each field of ``Thing``; exceptions are raised when they are read."""

    values: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.values.get(name)
        if isinstance(value, Raised):
            raise value.error
        return value() if callable(value) else value


@dataclass
class Raised:
    """Stands for an attribute that cannot be read."""

    error: Exception


def _of_the_object(root: Anything) -> str | None:
    value = root.computed
    if value == "fail":
        raise RuntimeError("it cannot be computed")
    return value  # type: ignore[no-any-return]


@strawberry.interface
class Named:
    name: str

    @staticmethod
    def resolve_type(value: Any, _info: object, _interface: object) -> str | None:
        return value.values.get("kind", "Thing")  # type: ignore[no-any-return]


@strawberry.interface
class Sure:
    name: str
    number: int

    @staticmethod
    @always_resolves
    def resolve_type(value: Any, _info: object, _interface: object) -> str:
        return "Beta" if getattr(value, "values", {}).get("kind") == "Other" else "Alpha"

    @staticmethod
    def is_type_of(value: Any, _info: object) -> bool:
        return isinstance(value, Anything)


@strawberry.type
class Alpha(Sure):
    small: int | None


@strawberry.type
class Beta(Sure):
    flag: bool | None


@strawberry.type
class Thing(Named):
    number: int
    small: int | None
    ratio: float | None
    flag: bool | None
    color: Color | None
    tags: list[str] | None
    grid: list[list[int]] | None
    inner: Thing | None
    must: Thing
    things: list[Thing] | None
    others: list[Named | None] | None
    computed: str | None = strawberry.field(
        resolver=_of_the_object, metadata={Resolution: Resolution.OF_THE_OBJECT}
    )

    @strawberry.field
    def asked(self, info: strawberry.Info, times: int = 1) -> str | None:
        value = self.values.get("asked")  # type: ignore[attr-defined]
        if value == "fail":
            raise RuntimeError("it was asked in vain")
        return None if value is None else value * times

    @strawberry.field
    async def awaited(self) -> str | None:
        await asyncio.sleep(0)
        value = self.values.get("awaited")  # type: ignore[attr-defined]
        if value == "fail":
            raise RuntimeError("it was waited for in vain")
        return value  # type: ignore[no-any-return]

    @staticmethod
    def is_type_of(value: Any, _info: object) -> bool:
        return isinstance(value, Anything) and value.values.get("kind", "Thing") == "Thing"


@strawberry.type
class Other(Named):
    size: int

    @staticmethod
    def is_type_of(value: Any, _info: object) -> bool:
        return isinstance(value, Anything) and value.values.get("kind") == "Other"


def _things(root: Any, info: strawberry.Info) -> Any:
    return info.context


@strawberry.type
class Query:
    things: list[Thing | None] | None = strawberry.field(resolver=_things)
    all: list[Thing] | None = strawberry.field(resolver=_things)
    named: list[Named | None] | None = strawberry.field(resolver=_things)
    sure: list[Sure | None] | None = strawberry.field(resolver=_things)


WORLD = [
    strawberry.Schema(Query, types=[Other, Alpha, Beta], execution_context_class=executor)
    for executor in (None, PlannedLists)
]

FIELDS = """name number small ratio flag color tags grid computed asked(times: 2) awaited
    inner { name must { number asked } things { number awaited } } others { __typename name }"""
ODD: list[Any] = [
    None, 0, -1, 1 << 40, 1.5, True, "text", "fail", b"octets", Color.BLUE, [], ["a", None],
    [[1], [2]], RuntimeError("a value"), Raised(RuntimeError("cannot be read")), object(),
]  # fmt: skip


async def _later(value: Any) -> Any:
    return value


things: st.SearchStrategy[Any] = st.deferred(
    lambda: st.builds(
        Anything,
        st.fixed_dictionaries(
            {
                "name": st.just("x") | st.sampled_from(ODD),
                "number": st.just(3) | st.sampled_from(ODD),
            },
            optional={
                **{
                    key: st.sampled_from(ODD)
                    for key in ("small", "ratio", "flag", "color", "tags", "grid", "computed")
                },
                "asked": st.sampled_from([None, "a", "fail"]),
                "awaited": st.sampled_from([None, "a", "fail"]),
                "kind": st.sampled_from(["Thing", "Other", "Nothing", None]),
                "size": st.integers(0, 5),
                "inner": st.none() | things,
                "must": things,
                "things": st.lists(things, max_size=4),
                "others": st.lists(st.none() | things, max_size=4),
            },
        ),
    )
)


@given(
    root=st.lists(st.none() | things | st.sampled_from(ODD), min_size=3, max_size=6),
    field=st.sampled_from(
        [
            "things { F }",
            "all { F }",
            "named { __typename name ... on Thing { F } ... on Other { size } }",
            "sure { again: name number name }",
            "sure { __typename number ... on Alpha { small } ... on Beta { flag } }",
        ]
    ),
    later=st.booleans(),
)
def test_whatever_values_there_are_the_answers_are_alike(
    root: list[Any], field: str, later: bool
) -> None:
    query = "{ " + field.replace("F", FIELDS) + " }"

    async def both() -> list[bytes]:
        found = []
        for schema in WORLD:
            items = [_later(each) for each in root] if later else root
            result = await schema.execute(query, context_value=items)
            body: dict[str, Any] = {"data": result.data}
            errors = [error.formatted for error in result.errors or ()]
            body["errors"] = sorted(errors, key=lambda each: str(each))
            found.append(encode_response(body))
        return found

    usual, planned = asyncio.run(both())
    assert planned == usual


def test_plans_are_used_where_they_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts what goes the usual way: of a plain list nothing does."""
    executed: list[str] = []
    execute_field: Callable[..., Any] = PlannedLists.execute_field

    def counted(executor: Any, parent: Any, source: Any, details: Any, *rest: Any) -> Any:
        executed.append(details[0].node.name.value)
        return execute_field(executor, parent, source, details, *rest)

    monkeypatch.setattr(PlannedLists, "execute_field", counted)
    items = [Anything({"name": str(number), "number": number}) for number in range(5)]
    result = asyncio.run(
        WORLD[1].execute("{ things { name number inner { name } awaited } }", context_value=items)
    )
    assert result.errors is None
    assert executed == ["things", *["awaited"] * 5]


def test_a_selection_that_is_the_same_for_all_types_asks_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    interface = WORLD[1]._schema.type_map["Sure"]
    assert isinstance(interface, GraphQLInterfaceType)
    usual = interface.resolve_type
    assert usual is not None

    def counted(value: Any, *rest: Any) -> Any:
        asked.append(value)
        return usual(value, *rest)

    counted.always_resolves = True  # type: ignore[attr-defined]
    monkeypatch.setattr(interface, "resolve_type", counted)
    items = [Anything({"name": str(number), "number": number}) for number in range(5)]
    for query, times in (("{ sure { name number } }", 0), ("{ sure { __typename } }", 5)):
        result = asyncio.run(WORLD[1].execute(query, context_value=items))
        assert result.errors is None
        assert len(asked) == times


@pytest.mark.parametrize("passes", range(1, 8))
def test_whoever_stops_early_leaves_nothing_that_is_never_awaited(passes: int) -> None:
    """Cancelled in every pass of the event loop, and so before some fields have begun."""
    items = [Anything({"name": str(number), "number": number}) for number in range(5)]

    async def stopped() -> None:
        work = asyncio.ensure_future(
            WORLD[1].execute("{ things { name number awaited } }", context_value=items)
        )
        for _ in range(passes):
            await asyncio.sleep(0)
        work.cancel()
        await asyncio.wait({work})

    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        asyncio.run(stopped())
        gc.collect()
    assert [str(each.message) for each in complaints] == []
