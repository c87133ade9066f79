"""Groups of rows that are equal in every bit. GROUP BY treats 0.0 and -0.0 as one value."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, LogicalPlan, Project
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.values.types import BOOLEAN, DOUBLE, FLOAT, STRING, ArrayType, DataType, MapType, StructType

_REALS: tuple[DataType, ...] = (DOUBLE, FLOAT)


def exact_groups(
    rows: LogicalPlan, columns: Sequence[ColumnRef], items: tuple[Alias, ...], new_column: NewColumn
) -> LogicalPlan:
    """Aggregate rows by columns without changing the columns' values. The output has these columns, then `items`."""
    signs = {
        column.column_id: new_column("sign", sign.dtype).holding(sign)
        for column in columns
        if (sign := _sign(column)) is not None
    }
    if not signs:
        return Aggregate(rows, tuple(columns), items)
    beside = Project(rows, (*rows.output, *signs.values()))
    groups = Aggregate(beside, (*columns, *(sign.ref for sign in signs.values())), items)
    kept = (_restored(column, signs, new_column) for column in columns)
    return Project(groups, (*kept, *(item.ref for item in items)))


def _sign(column: ColumnRef) -> Expr | None:
    """Expression that distinguishes -0.0 from 0.0; None if the type has no such values."""
    if column.dtype in _REALS:
        # The angle of a point to the left of the origin is pi above the axis, and -pi below it.
        angle = Call("atan2", (Cast(column, DOUBLE), Literal(-1.0, DOUBLE)), DOUBLE)
        return Call("lt", (angle, Literal(0.0, DOUBLE)), BOOLEAN)
    return Call("to_json", (column,), STRING) if _holds_reals(column.dtype) else None


def _restored(column: ColumnRef, signs: dict[int, Alias], new_column: NewColumn) -> ColumnRef | Alias:
    """The column of a group with the sign that its rows have. GROUP BY returns a zero of either sign."""
    if column.dtype not in _REALS:
        return column
    is_zero = Call("eq", (column, Literal(0.0, column.dtype)), BOOLEAN)
    is_negative = Call("and", (is_zero, signs[column.column_id].ref), BOOLEAN)
    value = Call("case_when", (is_negative, Literal(-0.0, column.dtype), column), column.dtype)
    return new_column(column.name, column.dtype).holding(value)


def _holds_reals(dtype: DataType) -> bool:
    match dtype:
        case ArrayType(element):
            return _holds_reals(element)
        case MapType(key, value):
            return _holds_reals(key) or _holds_reals(value)
        case StructType(_, types):
            return any(map(_holds_reals, types))
    return dtype in _REALS
