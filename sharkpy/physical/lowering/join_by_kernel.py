"""Lowering of a join to a lookup of a kernel: each row of one side has at most one match, found by an integer key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.kernel_code import Code, constant_code
from sharkpy.physical.lowering.lower_expr import lower
from sharkpy.physical.lowering.select import KernelRows, Select
from sharkpy.physical.operators import HashJoin
from sharkpy.physical.stage_program import BlockColumns, Lookup, RowFilter
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import JoinKind

_MOST_SPAN = 1 << 25
"""Largest distance of the least and the greatest key: 128 MB for a column of 32 bits."""
_MOST_KEPT = 0.5
"""Part of a range of keys above which leaving out the rows with other keys saves no time."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Side of a join, with the code and the range of its key."""

    rows: KernelRows
    key: Code
    range: ColumnRange
    scale: int


def looked_up_rows(plan: HashJoin, left: Select, right: Select) -> KernelRows | None:
    """Return the rows of a join for a kernel, or None if no side can be looked up.

    By estimate, keys of that side do not repeat. A task finds out whether they do.
    """
    if len(plan.left_keys) != 1 or plan.null_safe[0] or plan.repeats is None:
        return None
    sides = _side(left, plan.left_keys[0]), _side(right, plan.right_keys[0])
    if sides[0] is None or sides[1] is None or sides[0].scale != sides[1].scale:
        return None
    for place in _found_places(plan, sides[0].rows, sides[1].rows):
        joined = _joined(sides[1 - place] or sides[0], sides[place] or sides[1], is_inner=plan.kind is JoinKind.INNER)
        if joined is not None:
            return _with_residual(plan, left, right, joined)
    return None


def _side(select: Select, key: Expr) -> _Side | None:
    value = lower(key, select.scope).integer()
    if select.rows is None or value is None or value.code is None or value.range is None:
        return None
    return _Side(select.rows, value.code, value.range, value.scale)


def _found_places(plan: HashJoin, left: KernelRows, right: KernelRows) -> Iterator[int]:
    """Yield the places of the sides that may be looked up, the smaller one first."""
    by_size = (0, 1) if (left.most_rows or 0) < (right.most_rows or 0) else (1, 0)
    allowed = {JoinKind.INNER: by_size, JoinKind.LEFT: (1,), JoinKind.RIGHT: (0,)}
    yield from (place for place in allowed.get(plan.kind, ()) if plan.repeats and not plan.repeats[place])


def _joined(side: _Side, found: _Side, *, is_inner: bool) -> KernelRows | None:
    """Return the rows of `side`, each with its match in `found`, which may have matches in lookups of its own."""
    if not _is_column(found) or found.range.high - found.range.low > _MOST_SPAN:
        return None
    if found.rows.lookups and not is_inner:
        return None
    matching = _within(found, side.range)
    own, later = list[Code](), list[Code]()
    for condition in matching.conditions:
        (own if set(matching.blocks.aliases).issuperset(condition.columns()) else later).append(condition)
    lookup = Lookup(side.key, matching.blocks, found.key.name, tuple(own), keeps_all=not is_inner)
    rows = _within(side, found.range) if is_inner and _is_column(side) else side.rows
    return replace(
        rows,
        conditions=(*rows.conditions, *later),
        lookups=(*rows.lookups, lookup, *matching.lookups),
        distinct={**rows.distinct, **matching.distinct},
    )


def _is_column(side: _Side) -> bool:
    return side.key.op == "column" and side.key.name in side.rows.blocks.aliases


def _within(side: _Side, known: ColumnRange) -> KernelRows:
    """Return the rows whose keys are in a range, if these are few. The task finds them once, as for a predicate."""
    low, high, rows = max(side.range.low, known.low), min(side.range.high, known.high), side.rows
    if high - low + 1 > _MOST_KEPT * (side.range.high - side.range.low + 1):
        return rows
    ends = (constant_code(low), side.key), (side.key, constant_code(high))
    conditions = tuple(Code("less_equal", pair) for pair in ends)
    return replace(rows, conditions=(*rows.conditions, *conditions), blocks=_filtered(rows.blocks, side, conditions))


def _filtered(blocks: BlockColumns, side: _Side, conditions: tuple[Code, ...]) -> BlockColumns:
    place = blocks.aliases.index(side.key.name)
    low, high = conditions[0].args[0].number, conditions[1].args[1].number
    text = f'"{blocks.names[place]}:{blocks.forms[place]}" BETWEEN {low} AND {high}'
    known = blocks.filter or RowFilter((), (), "")
    key = "\n".join(filter(None, (known.key, text)))
    return replace(blocks, filter=RowFilter((*known.conditions, *conditions), known.texts, key))


def _with_residual(plan: HashJoin, left: Select, right: Select, rows: KernelRows) -> KernelRows | None:
    if plan.residual is None:
        return rows
    code = lower(plan.residual, {**left.scope, **right.scope}).code
    return None if code is None or plan.kind is not JoinKind.INNER else rows.filtered(code)
