"""Single fields, executed with what their last execution found out.

Which field a node means, what its arguments are when no variable stands among them, and what is
selected below it is the same whenever an operation is executed, and costs more to find than most
fields take otherwise.

Always true: the answer is the same, byte for byte, errors included, as without this module.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, cast

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLResolveInfo,
    ListValueNode,
    ObjectValueNode,
    OperationType,
    VariableNode,
    get_argument_values,
)
from graphql.execution.collect_fields import CollectedFields, GroupedFieldSet, collect_fields
from graphql.pyutils import Path
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from typing_extensions import override

from schema.kept_operations import KeptOperation, KeptOperations, KnownField
from schema.list_items import Details

_KEPT: Final = KeptOperations()


class PlannedFields(StrawberryGraphQLCoreExecutionContext):
    """Executes an operation; what is known of it is not found out again."""

    @property
    def kept(self) -> KeptOperation:
        """What is known of the operation."""
        kept: KeptOperation | None = self.__dict__.get("_kept")
        if kept is None:
            kept = self.__dict__["_kept"] = _KEPT.of(self.operation, self.fragment_definitions)
        return kept

    @override
    def execute_operation(self, serially: bool | None = None) -> Any:
        """Execute the operation; of a query, what is selected at its root is known."""
        root_type = self.schema.query_type
        fields = None
        if (
            root_type is not None
            and serially is None
            and self.abort_signal is None
            and self.operation.operation is OperationType.QUERY
        ):
            fields = self._root_fields(root_type)
        if root_type is None or fields is None:
            return super().execute_operation(serially)
        try:
            result = self.execute_fields(root_type, self.root_value, None, fields, None)
        except GraphQLError as error:
            self.collected_errors.add(error, None)
            return self.build_response(None)
        if self.is_awaitable(result):
            return self._answered(result)
        return self.build_response(cast("dict[str, Any]", result))

    async def _answered(self, result: Awaitable[dict[str, Any]]) -> Any:
        try:
            data = await result
        except GraphQLError as error:
            self.collected_errors.add(error, None)
            return self.build_response(None)
        return self.build_response(data)

    def _root_fields(self, root_type: GraphQLObjectType) -> GroupedFieldSet | None:
        """What is selected at the root of a query; None where the usual way finds it."""
        kept = self.kept
        if not kept.lasts:
            return None
        found = kept.selected.get((root_type,))
        if found is None:
            try:
                found = collect_fields(
                    self.schema,
                    self.fragments,
                    self.variable_values,
                    root_type,
                    self.operation,
                    self.hide_suggestions,
                )
            except (GraphQLError, RecursionError):
                return None  # the usual way says what is wrong
            kept.selected[root_type,] = found
        return None if found.new_defer_usages else found.grouped_field_set

    @override
    def collect_subfields(
        self, return_type: GraphQLObjectType, field_details_list: Details
    ) -> CollectedFields:
        """What is selected below a field for a type of object."""
        kept = self.kept
        if not kept.lasts:
            return super().collect_subfields(return_type, field_details_list)
        key = (return_type, *(id(each.node) for each in field_details_list))
        found = kept.selected.get(key)
        if found is None:
            found = super().collect_subfields(return_type, field_details_list)
            kept.selected[key] = found
        return found

    @override
    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: Details,
        path: Path,
        position_context: Any,
    ) -> Any:
        """Execute one field; see :meth:`graphql.Executor.execute_field`."""
        known = None
        if position_context is None and self.abort_signal is None and not self.middleware_manager:
            known = self._known_field(parent_type, field_details_list)
        if known is None:
            return super().execute_field(
                parent_type, source, field_details_list, path, position_context
            )
        return_type = known.definition.type
        info = self.build_resolve_info(known.definition, known.nodes, parent_type, path)
        try:
            arguments = known.arguments
            if arguments is None:
                arguments = self._arguments(known.definition, known.nodes[0])
            result = known.resolve(source, info, **arguments)
            if self.is_awaitable(result):
                return self.complete_awaitable_value(
                    return_type, field_details_list, info, path, result, None
                )
            completed = self.complete_value(
                return_type, field_details_list, info, path, result, None
            )
            if self.is_awaitable(completed):
                return self._completed(completed, return_type, field_details_list, path)
        except Exception as error:  # noqa: BLE001 - whatever a field raises is its error
            self.handle_field_error(error, return_type, field_details_list, path)
            return None
        return completed

    @override
    async def complete_awaitable_value(
        self,
        return_type: GraphQLOutputType,
        field_details_list: Details,
        info: GraphQLResolveInfo[Any],
        path: Path,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete what a resolver gives later; nobody but us stops an operation."""
        if self.abort_signal is not None:
            return await super().complete_awaitable_value(
                return_type, field_details_list, info, path, result, position_context
            )
        try:
            completed = self.complete_value(
                return_type, field_details_list, info, path, await result, position_context
            )
            if self.is_awaitable(completed):
                return await completed
        except Exception as error:  # noqa: BLE001 - whatever a field raises is its error
            self.handle_field_error(error, return_type, field_details_list, path)
            return None
        return completed

    @override
    def complete_object_value(
        self,
        return_type: GraphQLObjectType,
        field_details_list: Details,
        info: GraphQLResolveInfo[Any],
        path: Path,
        result: Any,
        position_context: Any,
    ) -> Any:
        """Complete an object by what is selected of it."""
        is_type_of = return_type.is_type_of
        if position_context is None and (is_type_of is None or is_type_of(result, info) is True):
            fields, deferred, _ = self.collect_subfields(return_type, field_details_list)
            if not deferred:
                return self.execute_fields(return_type, result, path, fields, None)
        return super().complete_object_value(
            return_type, field_details_list, info, path, result, position_context
        )

    async def _completed(
        self,
        completed: Awaitable[Any],
        return_type: GraphQLOutputType,
        details: Details,
        path: Path,
    ) -> Any:
        try:
            return await completed
        except Exception as error:  # noqa: BLE001 - whatever a field raises is its error
            self.handle_field_error(error, return_type, details, path)
            return None

    def _known_field(self, parent_type: GraphQLObjectType, details: Details) -> KnownField | None:
        kept = self.kept
        if not kept.lasts:
            return None
        key = (parent_type, *(id(each.node) for each in details))
        known = kept.fields.get(key)
        if known is None:
            nodes = [each.node for each in details]
            definition = self.schema.get_field(parent_type, nodes[0].name.value)
            if definition is None:
                return None
            arguments = None
            if _is_constant(nodes[0]):
                try:
                    arguments = self._arguments(definition, nodes[0])
                except GraphQLError:
                    return None  # the usual way says what is wrong
            resolve = definition.resolve or self.field_resolver
            known = kept.fields[key] = KnownField(definition, resolve, nodes, arguments)
        return known

    def _arguments(self, definition: GraphQLField, node: FieldNode) -> dict[str, Any]:
        return get_argument_values(
            definition, node, self.variable_values, hide_suggestions=self.hide_suggestions
        )


def _is_constant(node: FieldNode) -> bool:
    """Whether the arguments are the same whatever the variables are, and none can be changed."""
    return not any(
        isinstance(each.value, VariableNode | ListValueNode | ObjectValueNode)
        for each in node.arguments or ()
    )
