"""Fields that call their resolvers with nothing in between.

The usual way finds out for every call what a resolver wants to be told, which types its arguments
have and how they are spelled in Python, and looks for extensions of the field. All of that is the
same for every call, so it is found out once, when the schema is built.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import strawberry
from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLObjectType,
    GraphQLResolveInfo,
    get_nullable_type,
    is_leaf_type,
)
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.arguments import StrawberryArgument, convert_argument
from strawberry.types.field import StrawberryField

_DEFINITION: Final = GraphQLCoreConverter.DEFINITION_BACKREF

_Convert = Callable[[Any, Any], Any]
"""Makes of the value of an argument, given an info, what a resolver takes."""


def call_directly(schema: strawberry.Schema) -> None:
    """Have every field of a schema that has a resolver call it directly.

    Fields with extensions, permissions among them, are left as they are.
    """
    for each in schema._schema.type_map.values():
        if isinstance(each, GraphQLObjectType):
            for field in each.fields.values():
                definition = field.extensions.get(_DEFINITION)
                if isinstance(definition, StrawberryField) and field.subscribe is None:
                    call = _direct_call(schema, definition, field)
                    field.resolve = call or field.resolve


def _direct_call(
    schema: strawberry.Schema, definition: StrawberryField, field: GraphQLField
) -> Callable[..., Any] | None:
    resolver = definition.base_resolver
    if resolver is None or definition.extensions or definition.permission_classes:
        return None
    function, info_class = resolver.wrapped_func, schema.config.info_class
    assert callable(function), "methods are taken off their class before"
    takes_self = resolver.self_parameter is not None
    names_of_source = [
        parameter.name
        for parameter in (resolver.parent_parameter, resolver.root_parameter)
        if parameter is not None
    ]
    name_of_info = resolver.info_parameter.name if resolver.info_parameter is not None else None
    taken = {
        name: _taken(schema, argument, field.args[name])
        for argument in definition.arguments
        if (name := schema.config.name_converter.from_argument(argument)) in field.args
    }

    def call(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        shown = info_class(_raw_info=info, _field=definition)
        named: dict[str, Any] = {}
        for name, value in arguments.items():
            python_name, convert = taken[name]
            named[python_name] = value if convert is None else convert(value, shown)
        for name in names_of_source:
            named[name] = source
        if name_of_info is not None:
            named[name_of_info] = shown
        return function(source, **named) if takes_self else function(**named)

    return call


def _taken(
    schema: strawberry.Schema, argument: StrawberryArgument, declared: GraphQLArgument
) -> tuple[str, _Convert | None]:
    """The Python name of an argument, and how its values are converted, None where they are not."""
    assert argument.python_name is not None
    if is_leaf_type(get_nullable_type(declared.type)):
        return argument.python_name, None
    name = schema.config.name_converter.from_argument(argument)
    type_, registry = argument.type, schema.schema_converter.scalar_registry

    def convert(value: Any, info: Any) -> Any:
        return convert_argument(value, type_, registry, schema.config, info, path=(name,))

    return argument.python_name, convert
