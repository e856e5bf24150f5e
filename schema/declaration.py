"""How types are declared: the docstring of a class is the description that clients are served.

Fields that carry no resolver cost the executor least, so whatever is shown in long lists is a plain
attribute of its domain object.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

import strawberry
from strawberry.types import get_object_definition
from strawberry.types.arguments import InputContext
from typing_extensions import dataclass_transform

from resolvers.context import RequestContext

Info = strawberry.Info[RequestContext, None]
"""What a field with a resolver is told about the operation that it is part of."""

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T", bound=Callable[[object, object], bool])
R = TypeVar("R", bound=Callable[..., str])


def object_type(cls: C) -> C:
    """Declare an object type."""
    return strawberry.type(cls, description=_description(cls))


def interface(cls: C) -> C:
    """Declare an interface; its ``resolve_type`` names the type of each object."""
    return strawberry.interface(cls, description=_description(cls))


def always_resolves(resolve_type: R) -> R:
    """Promise that a ``resolve_type`` has an answer for every object of its interface.

    Then lists whose selection is the same for all types need not ask for the type of each item.
    """
    resolve_type.always_resolves = True  # type: ignore[attr-defined]
    return resolve_type


def asks_class(is_type_of: T) -> T:
    """Promise that an ``is_type_of`` looks at nothing of an object but its class.

    Then lists of many objects need not ask for each of them.
    """
    is_type_of.asks_class = True  # type: ignore[attr-defined]
    return is_type_of


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def input_type(cls: C) -> C:
    """Declare an input object."""
    return strawberry.input(cls, description=_description(cls))


def one_of(cls: C) -> C:
    """Declare an input object of which a caller gives exactly one member."""
    return strawberry.input(cls, one_of=True, description=_description(cls))


def made_from(make: Callable[[Mapping[str, Any], InputContext], Any]) -> Callable[[C], C]:
    """Have an input object turned at once into what a function makes of its members.

    For inputs in which many others come together: the usual way costs as much as the rest of a
    write.
    """

    def declare(cls: C) -> C:
        definition = get_object_definition(cls, strict=True)
        definition.from_input = lambda _, members, context: make(members, context)
        return cls

    return declare


def field(served: Any, description: str) -> Callable[[F], F]:
    """A field whose value a method fetches; ``served`` is the GraphQL type of what it returns."""

    def declare(method: F) -> F:
        return strawberry.field(  # type: ignore[return-value]
            resolver=method, graphql_type=served, description=description
        )

    return declare


def followed(served: Any, description: str) -> Callable[[F], F]:
    """A field whose values come one after the other, from the stream that a method answers."""

    def declare(method: F) -> F:
        return strawberry.subscription(  # type: ignore[return-value]
            resolver=method, graphql_type=served, description=description
        )

    return declare


class Resolution(Enum):
    """Promises about a resolver, by which lists are completed faster; a field's metadata has one.

    OF_THE_OBJECT: it computes its value from the object alone.
    AT_HAND: it has its value at hand for most objects, given no more than the context.
    """

    OF_THE_OBJECT = "of the object"
    AT_HAND = "at hand"


def resolved(
    resolver: Callable[..., object], description: str | None = None, name: str | None = None
) -> Any:
    """A field whose value a resolver computes from the object alone, without reading anything."""
    return strawberry.field(
        resolver=resolver,
        description=description,
        name=name,
        metadata={Resolution: Resolution.OF_THE_OBJECT},
    )


def at_hand(served: Any, description: str | None) -> Callable[[F], F]:
    """A field whose value a method has at hand for most objects, and for the others fetches."""

    def declare(method: F) -> F:
        return strawberry.field(  # type: ignore[return-value]
            resolver=method,
            graphql_type=served,
            description=description,
            metadata={Resolution: Resolution.AT_HAND},
        )

    return declare


def _description(cls: type) -> str:
    return inspect.cleandoc(cls.__doc__ or "")
