"""Whether a schema keeps the contract that clients rely on.

Both schemas are taken apart into *facts*: what stands at ``Type``, ``Type.field``,
``Type.field(argument:)`` and so on, each a short phrase that says everything a client depends on,
descriptions aside. A fact of the contract that is served differently is a contradiction; one that
is not served at all is missing. Serving more than the contract has is allowed, unless it demands
something of clients that the contract does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLUnionType,
    build_schema,
    is_introspection_type,
    is_required_argument,
    is_required_input_field,
    is_specified_scalar_type,
    print_ast,
)

_REQUIRED = "required: "
"""Begins the fact of an argument or input field that every caller must give."""


def contradictions(served_sdl: str, contract_sdl: str) -> list[str]:
    """Where the served schema breaks the contract, a sentence each, in order of their place."""
    served, contract = _facts(served_sdl), _facts(contract_sdl)
    return [*_changed(served, contract), *_demanded(served, contract)]


def missing(served_sdl: str, contract_sdl: str) -> list[str]:
    """The places of the contract that are not served, without what lies inside of one of them."""
    served, contract = _facts(served_sdl), _facts(contract_sdl)
    absent = {place for place in contract if place not in served}
    return sorted(place for place in absent if not absent.intersection(_around(place)))


def _changed(served: Mapping[str, str], contract: Mapping[str, str]) -> Iterator[str]:
    for place in sorted(served.keys() & contract.keys()):
        if served[place] != contract[place]:
            yield f"{place} is `{contract[place]}` in the contract, served as `{served[place]}`"


def _demanded(served: Mapping[str, str], contract: Mapping[str, str]) -> Iterator[str]:
    for place in sorted(served.keys() - contract.keys()):
        nearest = next(iter(_around(place)), place)
        if served[place].startswith(_REQUIRED) and nearest in contract:
            yield f"{place} is demanded of clients, the contract does not have it"


def _around(place: str) -> Iterator[str]:
    """The places that a place lies in, the nearest first."""
    for separator in ("(", ".", " "):
        if separator in place:
            place = place.partition(separator)[0]
            yield place


def _facts(sdl: str) -> dict[str, str]:
    """Every place of a schema and what stands there."""
    facts: dict[str, str] = {}
    for named in build_schema(sdl).type_map.values():
        if not is_introspection_type(named) and not is_specified_scalar_type(named):
            facts.update(_facts_of(named))
    return facts


def _facts_of(named: GraphQLNamedType) -> Iterator[tuple[str, str]]:
    name = named.name
    if isinstance(named, GraphQLScalarType):
        yield name, "a scalar"
    elif isinstance(named, GraphQLEnumType):
        yield name, "an enum"
        yield from ((f"{name}.{value}", "a value") for value in named.values)
    elif isinstance(named, GraphQLUnionType):
        yield name, "a union"
        yield from ((f"{name} includes {member.name}", "a member") for member in named.types)
    elif isinstance(named, GraphQLInputObjectType):
        yield name, "an input of which one member is given" if named.is_one_of else "an input"
        for field_name, member in named.fields.items():
            yield f"{name}.{field_name}", _demand(member, is_required_input_field(member))
    elif isinstance(named, GraphQLObjectType | GraphQLInterfaceType):
        yield name, "a type" if isinstance(named, GraphQLObjectType) else "an interface"
        yield from ((f"{name} implements {each.name}", "a promise") for each in named.interfaces)
        for field_name, field in named.fields.items():
            yield f"{name}.{field_name}", str(field.type)
            for argument_name, argument in field.args.items():
                place = f"{name}.{field_name}({argument_name}:)"
                yield place, _demand(argument, is_required_argument(argument))


def _demand(value: GraphQLArgument | GraphQLInputField, required: bool) -> str:
    """Type and default of what a caller gives."""
    literal = None if value.default is None else value.default.literal
    default = "" if literal is None else f" = {print_ast(literal)}"
    return f"{_REQUIRED if required else ''}{value.type}{default}"
