"""Resolution of PARTITION (…) in a statement against the Hive partitions of a table."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError, TypeMismatchError
from sharkpy.catalog.hive_partition import DEFAULT_VALUE, HivePartition, partition_name
from sharkpy.catalog.model import Table
from sharkpy.catalog.partition_list import PartitionList
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.plan.commands import PartitionFilter, PartitionSpec
from sharkpy.plan.expr import Alias, Cast, string_literal
from sharkpy.plan.logical import Project, Values
from sharkpy.sources.lenient_conversion import single_value, typed_values
from sharkpy.values.types import INTEGER_TYPES, STRING, DataType

NOT_FOUND = "42S02"
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def spec_name(table: Table, spec: PartitionSpec, session: EngineSession) -> str:
    """Return the name of a Hive partition, or the prefix of names, for the values of `spec`.

    Raise TypeMismatchError 22018 for a value outside its column's type.
    """
    columns = [name for name, value in spec if value is not None]
    texts = [_normal(name, value or "", table.schema[name].dtype, session) for name, value in spec if value is not None]
    return partition_name(columns, texts)


def _normal(column: str, text: str, dtype: DataType, session: EngineSession) -> str | None:
    """Return the normal form of a value's text: '01' is '1' in an INT column."""
    if text == DEFAULT_VALUE or dtype == STRING:
        return text
    value = _typed(column, text, dtype)
    if dtype in INTEGER_TYPES:
        return str(value)
    cast = Cast(Cast(string_literal(text), dtype), STRING)
    plan = Project(Values((), ((),)), (Alias(cast, 1, column),))
    rows = [row for batch in query_rows(session, plan) for row in batch.column(0).to_pylist()]
    return None if not rows or rows[0] is None else str(rows[0])


def _typed(column: str, text: str, dtype: DataType) -> object:
    """Return the value as a Python object, None for the default value."""
    if text == DEFAULT_VALUE:
        return None
    value = single_value(text, dtype)[0].as_py()
    if value is None:
        message = f'"{text}" is not a value of the {dtype} partition column "{column}"'
        raise TypeMismatchError(message, sqlstate="22018")
    return value


_Values: TypeAlias = tuple[object, ...]


class PartitionIndex:
    """Index of a table's Hive partitions by typed values. A statement may name thousands of them."""

    def __init__(self, table: Table, partitions: PartitionList) -> None:
        self._table = table
        self._partitions = partitions
        self._places = {name: index for index, name in enumerate(table.partition_columns)}
        schema = table.partition_schema

        def add(index: dict[_Values, dict[str, None]], names: Sequence[str]) -> None:
            for name, values in zip(names, typed_values(names, schema), strict=True):
                index.setdefault(values, {})[name] = None

        self._names = partitions.names.indexed((PartitionIndex, schema), dict[_Values, dict[str, None]], add)
        self._added: dict[_Values, HivePartition] = {}

    def add(self, one: HivePartition) -> None:
        """Add a Hive partition that the table did not have."""
        (values,) = typed_values([one.name], self._table.partition_schema)
        self._added[values] = one

    def matching(self, terms: PartitionFilter) -> list[HivePartition]:
        """Return the partitions that satisfy all comparisons, by name. NULL equals only the default value and has no
        order.
        """
        check_cancelled()
        wanted = [
            (self._places[name], sign, _typed(name, text, self._table.schema[name].dtype)) for name, sign, text in terms
        ]
        equal = {place: value for place, sign, value in wanted if sign == "="}
        if len(equal) == len(wanted) == len(self._places):
            return self.with_values(tuple(equal[place] for place in range(len(equal))))
        candidates = dict.fromkeys((*self._names, *self._added))
        chosen = [one for one in candidates if all(_holds(one[place], sign, value) for place, sign, value in wanted)]
        return sorted((one for values in chosen for one in self.with_values(values)), key=lambda one: one.name)

    def matching_spec(self, spec: PartitionSpec) -> list[HivePartition]:
        return self.matching(tuple((name, "=", value or "") for name, value in spec))

    def with_values(self, values: _Values) -> list[HivePartition]:
        """Return the partitions with these values, by name. They may be spelled differently."""
        there = map(self._partitions.find, sorted(self._names.get(values, ())))
        added = self._added.get(values)
        return [one for one in (*there, added) if one is not None]


def matching_spec(table: Table, partitions: PartitionList, spec: PartitionSpec) -> list[HivePartition]:
    return PartitionIndex(table, partitions).matching_spec(spec)


def the_partition(table: Table, partitions: PartitionList, spec: PartitionSpec) -> HivePartition:
    """Return the Hive partition with all values of `spec`. Raise BindError 42S02 if there is none."""
    found = matching_spec(table, partitions, spec)
    if not found:
        raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in spec))
    return found[0]


def no_such_partition(table: Table, text: str) -> BindError:
    return BindError(f"{table.qualified_name} has no partition ({text})", sqlstate=NOT_FOUND)


def _holds(value: object, sign: str, other: object) -> bool:
    if value is None or other is None:
        return (value is other) == (sign == "=") and sign in ("=", "<>")
    return _COMPARISONS[sign](value, other)
