"""Lowering of an aggregation over one scan to a kernel, if all that it computes has a code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sharkpy.base.parse_limits import shortened
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import HUGE, Value
from sharkpy.physical.operators import HashAggregate
from sharkpy.physical.plan import column_name
from sharkpy.physical.stage_program import GroupKey, KernelColumns

_MOST_KEYS = 1 << 62
_AGGREGATES = ("sum", "count", "min", "max")


def aggregate_by_kernel(
    plan: HashAggregate,
    select: Select,
    keys: Mapping[int, Value],
    values: Mapping[int, Value],
    columns: Mapping[str, Value],
    builder: Builder,
) -> Select | None:
    """Return the groups of a kernel: their keys, `values` by column id, and `columns` by name.

    Return None if a kernel cannot make them.
    """
    aggregates = {**{column_name(column_id): value for column_id, value in values.items()}, **columns}
    if select.rows is None:
        return None
    missing = [value.sql for value in aggregates.values() if value.code is None or value.code.op not in _AGGREGATES]
    groups = tuple(key for column_id, value in keys.items() if (key := _key(column_id, value)) is not None)
    if missing or len(groups) < len(keys):
        what = missing[0] if missing else next(one.sql for place, one in keys.items() if _key(place, one) is None)
        builder.kernels.append(_decision(plan, f"by DuckDB, since no kernel computes {shortened(what)}"))
        return None
    if math.prod(key.high - key.low + 2 for key in groups) >= _MOST_KEYS:
        builder.kernels.append(_decision(plan, "by DuckDB, since its keys do not fit 64 bits"))
        return None
    blocks = select.rows.blocks
    totals = tuple((name, value.code) for name, value in aggregates.items() if value.code is not None)
    kernel = KernelColumns(blocks.relation, blocks, select.rows.conditions, groups, totals)
    builder.inputs[builder.inputs.index(blocks)] = kernel
    builder.kernels.append(_decision(plan, "by a kernel"))
    scope = {column_id: value.renamed(column_name(column_id)) for column_id, value in keys.items()}
    scope |= {column_id: _total(column_name(column_id), value) for column_id, value in values.items()}
    return Select(kernel.relation, {column_id: replace(value, code=None) for column_id, value in scope.items()})


def _decision(plan: HashAggregate, text: str) -> Decision:
    return Decision("kernel", f"{plan.label}: {text}", is_planned=True)


def _key(column_id: int, value: Value) -> GroupKey | None:
    form = value if value.values else value.integer()
    if form is None or form.code is None or form.range is None or form.integer_type is None:
        return None
    return GroupKey(column_name(column_id), form.code, form.range.low, form.range.high, form.integer_type)


def _total(name: str, value: Value) -> Value:
    """Return an aggregate as a column of the kernel, which is a BIGINT."""
    return replace(value.renamed(name), integer_type=HUGE if value.integer_type else None)
