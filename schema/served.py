"""The schema that is served."""

from __future__ import annotations

from typing import Any

from graphql import Executor
from strawberry.schema.config import StrawberryConfig

from schema import event, lineage, projection
from schema.direct_calls import call_directly
from schema.errors import PublicErrors
from schema.mutation import Mutation
from schema.operation import OneObservation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription


def build_schema(
    execution_context_class: type[Executor[Any]] | None = None, *, directly: bool = True
) -> PublicErrors:
    """The schema, to be executed with a ``resolvers.context.Services`` as its context value.

    execution_context_class: how fields are executed; graphql-core's way when left out.
    directly: whether fields call their resolvers so; else Strawberry's way, to compare with it.
    """
    schema = PublicErrors(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=(*event.IMPLEMENTATIONS, *lineage.IMPLEMENTATIONS, *projection.IMPLEMENTATIONS),
        extensions=(OneObservation,),
        execution_context_class=execution_context_class,
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    if directly:
        call_directly(schema)
    return schema
