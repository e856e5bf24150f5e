"""Lists of objects, completed by a plan that is made once for all items.

The usual way costs some 3.5 µs for every field of every item: the field is looked up, an info is
made, its resolver is found and called, its type is taken apart. For most fields of a list the
outcome is the same for every item: an attribute is read, checked and put into the answer. So the
selection is taken apart once, and what is left for each item is reading attributes and, where a
field was declared so, calling a function of the object alone.

A plan covers objects within objects, lists, interfaces and unions. Fields that are beyond it (with
arguments, or that read something) are executed the usual way once everything else of the item is
there, provided that they may be null, so that their failure stays their own. Whatever is unusual
about an item (a value of another type, an exception, something to wait for) sends that item the
usual way from its beginning; a plan never decides what an error looks like.

Always true: the answer is the same, byte for byte, errors included, as without this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Final, Self, cast

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLOutputType,
    GraphQLResolveInfo,
    GraphQLResolveInfoHelpers,
    GraphQLSchema,
    default_field_resolver,
    default_type_resolver,
    get_named_type,
    is_leaf_type,
)
from graphql.pyutils import Path
from typing_extensions import override

from schema.event_variables import EventVariables
from schema.list_items import Details, Item, Light, Plan, SlowField
from schema.list_plans import plan_of
from schema.plain_variables import PlainDocuments
from schema.planned_fields import PlannedFields

_SHORT: Final = 3
"""Lists of fewer items are completed the usual way: a plan must be worth its making."""

_DOCUMENTS: Final = PlainDocuments()
_PASSED_ON: Final = frozenset({"is_awaitable"})
"""What may be said beside it when a plain document is executed."""


class PlannedLists(PlannedFields):
    """Executes an operation; lists of several objects by plans, those of events it is given, too.

    See :mod:`schema.event_variables` for the latter.
    """

    @property
    def async_helpers(self) -> GraphQLResolveInfoHelpers:
        """What resolvers are given for what they have to wait for, made for each.

        Kept, it would be in a circle with us: what a client sent, which we hold, would stay in
        memory until the collector of circles comes by, and have it come by so much more often.
        """
        return GraphQLResolveInfoHelpers(self.gather_async_work, self.track_async_work)

    @async_helpers.setter
    def async_helpers(self, _kept: GraphQLResolveInfoHelpers) -> None:
        pass

    @classmethod
    @override
    def build(
        cls,
        schema: GraphQLSchema,
        document: DocumentNode,
        root_value: Any = None,
        context_value: Any = None,
        raw_variable_values: dict[str, Any] | None = None,
        operation_name: str | None = None,
        *rest: Any,
        **options: Any,
    ) -> list[GraphQLError] | Self:
        given = raw_variable_values or {}
        plain = None if rest else _DOCUMENTS.of(schema, document, operation_name)
        values = None if plain is None else plain.values(given)
        if plain is not None and values is not None and options.keys() <= _PASSED_ON:
            return cls(
                schema,
                plain.fragment_definitions,
                plain.fragments,
                root_value,
                context_value,
                plain.operation,
                values,
                default_field_resolver,
                default_type_resolver,
                default_field_resolver,
                **options,
            )
        variables = EventVariables.of(document, operation_name, given)
        before, behind = (schema, document, root_value, context_value), (operation_name, *rest)
        executor = super().build(*before, variables.rest, *behind, **options)
        if variables.are_set_aside:
            if isinstance(executor, list):
                executor = super().build(*before, given, *behind, **options)
            else:
                variables.put_back(executor.variable_values)
        return cast("list[GraphQLError] | Self", executor)

    @override
    def complete_iterable_value(
        self,
        item_type: GraphQLOutputType,
        field_details_list: Details,
        info: GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
        position_context: Any,
    ) -> Any:
        """Complete the items of a list, by a plan where there is one."""
        plan = None
        if (
            position_context is None
            and type(items) in (list, tuple)
            and len(cast("list[Any]", items)) >= _SHORT
            and not is_leaf_type(get_named_type(item_type))
            and not self.get_stream_usage(field_details_list, path)
        ):
            plan = self._known_plan(item_type, field_details_list)
        if plan is None:
            return super().complete_iterable_value(
                item_type, field_details_list, info, path, items, position_context
            )
        return self._complete_items(plan, item_type, field_details_list, info, path, items)

    def _complete_items(
        self,
        plan: Plan,
        item_type: GraphQLOutputType,
        details: Details,
        info: GraphQLResolveInfo[Any],
        path: Path,
        items: Iterable[Any],
    ) -> Any:
        results: list[Any] = []
        waiting: list[tuple[Any, Any, Awaitable[Any]]] = []
        light = Light(self.context_value)
        complete = plan.complete
        if not plan.slow:
            try:
                return plan.column(cast("list[Any]", items), Item(self, info, light, []))
            except Exception:  # noqa: BLE001 - item by item, the usual way says what is wrong
                pass
        try:
            for index, value in enumerate(items):
                item = Item(self, info, light, [])
                try:
                    results.append(complete(value, item))
                except Exception:  # noqa: BLE001 - the usual way says what is wrong
                    self._complete_usually(
                        value, results, item_type, details, info, path, index, waiting
                    )
                    continue
                for each in item.slow:
                    result = self._execute_slow(each, path.add_key(index, None))
                    if self.is_awaitable(result):
                        waiting.append((each.answer, each.name, result))
        except Exception:
            if waiting:
                self.settle_in_background([each for _, _, each in waiting])
            raise
        return self._awaited(results, waiting) if waiting else results

    def _execute_slow(self, slow: SlowField, path: Path) -> Any:
        for key, type_name in slow.keys:
            path = path.add_key(key, type_name)
        path = path.add_key(slow.name, slow.parent_type.name)
        result = self.execute_field(slow.parent_type, slow.source, slow.details, path, None)
        slow.answer[slow.name] = result
        return result

    def _complete_usually(
        self,
        value: Any,
        results: list[Any],
        item_type: GraphQLOutputType,
        details: Details,
        info: GraphQLResolveInfo[Any],
        path: Path,
        index: int,
        waiting: list[tuple[Any, Any, Awaitable[Any]]],
    ) -> None:
        item_path = path.add_key(index, None)
        if self.is_awaitable(value):
            results.append(
                self.complete_awaitable_list_item_value(
                    value, item_type, details, info, item_path, None
                )
            )
        elif not self.complete_list_item_value(
            value, results, item_type, details, info, item_path, None
        ):
            return
        waiting.append((results, index, results[index]))

    @staticmethod
    async def _awaited(
        results: list[Any], waiting: list[tuple[Any, Any, Awaitable[Any]]]
    ) -> list[Any]:
        if len(waiting) == 1:
            ((place, key, awaitable),) = waiting
            place[key] = await awaitable
            return results
        values = await _all_of([awaitable for _, _, awaitable in waiting])
        for (place, key, _), value in zip(waiting, values, strict=True):
            place[key] = value
        return results

    def _known_plan(self, item_type: GraphQLOutputType, details: Details) -> Plan | None:
        """The plan of a list; lists that one field has under many objects share it."""
        plans = self.kept.plans
        key = (item_type, *(id(each.node) for each in details))
        if key not in plans:
            plans[key] = plan_of(self, item_type, details)
        return plans[key]


async def _all_of(awaitables: Iterable[Awaitable[Any]]) -> list[Any]:
    """Their results, or the first failure; the others are stopped then, and waited for.

    Who is cancelled passes that on only after each of them has begun: a coroutine that is dropped
    before it has begun leaves others behind that nobody awaits, and Python says so of each.
    """
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        return await asyncio.shield(asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
