"""Lowering of an aggregation over one scan to a kernel, if all that it computes has a code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sharkpy.base.parse_limits import shortened
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.kernel_code import codes_code
from sharkpy.physical.lowering.select import Builder, KernelRows, Select
from sharkpy.physical.lowering.value import HUGE, Value
from sharkpy.physical.operators import HashAggregate
from sharkpy.physical.plan import column_name
from sharkpy.physical.stage_program import MOST_CODES, GroupKey, KernelColumns
from sharkpy.values.types import DOUBLE, FLOAT, is_nested

_MOST_KEYS = 1 << 62
_AGGREGATES = ("sum", "sum_real", "count", "min", "max", "distinct")


def aggregate_by_kernel(
    plan: HashAggregate,
    rows: KernelRows,
    keys: Mapping[int, Value],
    values: Mapping[int, Value],
    columns: Mapping[str, Value],
    builder: Builder,
    num_queries: int,
) -> Select | None:
    """Return the groups of a kernel over `rows`: their keys, `values` by column id, and `columns` by name.

    It replaces the queries after the first `num_queries`. Return None if a kernel cannot make the groups.
    """
    aggregates = {**{column_name(column_id): value for column_id, value in values.items()}, **columns}
    distinct = {name: value for name, value in aggregates.items() if value.code and value.code.op == "distinct"}
    counted = dict.fromkeys(value.code.args[0] for value in distinct.values() if value.code)
    missing = [value.sql for value in aggregates.values() if not _is_computed(value, rows)]
    if missing or len(counted) > 1:
        what = missing[0] if missing else "count(DISTINCT …) of several columns"
        builder.kernels.append(_decision(plan, f"by DuckDB, since no kernel computes {shortened(what)}"))
        return None
    groups = {column_name(column_id): _key(column_name(column_id), value, rows) for column_id, value in keys.items()}
    if unknown := [value.sql for column_id, value in keys.items() if groups[column_name(column_id)] is None]:
        builder.kernels.append(_decision(plan, f"by DuckDB, since no kernel computes {shortened(unknown[0])}"))
        return None
    for code in counted:
        groups[_DISTINCT] = GroupKey(_DISTINCT, code, is_coded=True)
    found = _fitting([key for key in groups.values() if key is not None], keys.values(), rows)
    if not found and groups:
        builder.kernels.append(_decision(plan, "by DuckDB, since its keys do not fit 64 bits"))
        return None
    is_coded = any(key.is_coded for key in found)
    if is_coded and rows.most_partial is not None and _expected_groups(found, rows.distinct) > rows.most_partial:
        builder.kernels.append(_decision(plan, "by DuckDB, since its keys have too many different values"))
        return None
    totals = tuple(
        (name, value.code) for name, value in aggregates.items() if value.code is not None and name not in distinct
    )
    kernel = KernelColumns(rows.blocks.relation, rows.blocks, rows.conditions, tuple(found), totals, rows.lookups)
    names = [lookup.blocks.relation for lookup in rows.lookups]
    builder.inputs = [
        kernel if spec.relation == kernel.relation else spec for spec in builder.inputs if spec.relation not in names
    ]
    builder.kernels.append(
        _decision(plan, f"by a kernel, which looks up rows of {', '.join(names)}" if names else "by a kernel")
    )
    del builder.queries[num_queries:]
    scope = {column_id: replace(value.renamed(column_name(column_id)), code=None) for column_id, value in keys.items()}
    if not is_coded:
        scope |= {column_id: _total(column_name(column_id), value) for column_id, value in values.items()}
        return Select(kernel.relation, scope)
    group_by = tuple(value.sql for value in scope.values())
    scope |= {column_id: _merged(column_name(column_id), value) for column_id, value in values.items()}
    others = [f'{_merged(name, value).sql} AS "{name}"' for name, value in columns.items()]
    return builder.wrapped(Select(kernel.relation, scope, group_by=group_by), others)


_DISTINCT = "shark_distinct"


def _is_computed(value: Value, rows: KernelRows) -> bool:
    """Whether a kernel computes an aggregate from the columns of its rows."""
    if value.code is None or value.code.op not in _AGGREGATES:
        return False
    return rows.aliases.issuperset(value.code.columns())


def _decision(plan: HashAggregate, text: str) -> Decision:
    return Decision("kernel", f"{plan.label}: {text}", is_planned=True)


def integer_key(alias: str, value: Value) -> GroupKey | None:
    """Return a key by its integer form, or None if it has none with a code."""
    form = value if value.values else value.integer()
    if form is not None and form.code is not None and form.range is not None and form.integer_type is not None:
        return GroupKey(alias, form.code, form.range.low, form.range.high, form.integer_type)
    return None


def _key(alias: str, value: Value, rows: KernelRows) -> GroupKey | None:
    return integer_key(alias, value) or _coded(alias, value, rows)


def _coded(alias: str, value: Value, rows: KernelRows) -> GroupKey | None:
    """Return a key by codes of its values, for a column of the scan."""
    name = value.sql.strip('"')
    is_column = value.is_simple and name in rows.blocks.aliases and value.dtype not in (FLOAT, DOUBLE)
    return GroupKey(alias, codes_code(name), is_coded=True) if is_column and not is_nested(value.dtype) else None


def _fitting(groups: Sequence[GroupKey], values: Iterable[Value], rows: KernelRows) -> list[GroupKey]:
    """Return the keys if they fit 64 bits together, with the widest ones as codes if need be; else none of them."""
    known = {key.alias: key for key in groups}
    plain = {key.alias: value for key, value in zip(groups, values, strict=False)}
    for key in sorted(groups, key=lambda one: one.low - one.high):
        if math.prod(map(_width, known.values())) < _MOST_KEYS:
            break
        coded = _coded(key.alias, plain[key.alias], rows) if key.alias in plain else None
        known[key.alias] = coded or key
    return list(known.values()) if math.prod(map(_width, known.values())) < _MOST_KEYS else []


def _expected_groups(keys: Iterable[GroupKey], distinct: Mapping[str, int]) -> int:
    def values(key: GroupKey) -> int:
        known = distinct[key.code.name] if key.code.name in distinct else _width(key)
        return max(min(known, _width(key)), 1)

    return math.prod(map(values, keys))


def _width(key: GroupKey) -> int:
    return MOST_CODES if key.is_coded else key.high - key.low + 2


def _total(name: str, value: Value) -> Value:
    """Return an aggregate as a column of the kernel, which is a BIGINT."""
    return replace(value.renamed(name), integer_type=HUGE if value.integer_type else None, code=None)


def _merged(name: str, value: Value) -> Value:
    """Return an aggregate of partial groups."""
    op = value.code.op if value.code is not None else ""
    if op == "distinct":
        return Value(f'count(DISTINCT "{_DISTINCT}")', value.dtype)
    sql = f'{"sum" if op in ("count", "sum_real") else op}("{name}")'
    return replace(_total(name, value), sql=f"CAST({sql} AS BIGINT)" if op == "count" else sql)
