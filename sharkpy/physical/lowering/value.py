"""Values in SQL: either of their logical type, or as the scaled integers that store them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Context, Decimal

from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.kernel_code import Code
from sharkpy.udf.duckdb_sql import duckdb_type, lower_literal
from sharkpy.udf.value_size import Extent, Size, Sized, has_extent, leaf_extent
from sharkpy.values.types import DATE, DOUBLE, INTEGER_TYPES, STRING, TIMESTAMP, DataType, DecimalType

HUGE = "HUGEINT"
"""Type of sums: an integer form that is converted to the logical type, but not used in calculations."""
_ALL_DIGITS = Context(prec=100)
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Value:
    """Value of type `dtype`, computed by `sql`.

    1. If `integer_type` is None, `sql` has the DuckDB type of `dtype`.
    2. Otherwise `sql` has that DuckDB integer type. Its value is the logical one in units of its last digit (DECIMAL),
       in days (DATE) or in microseconds (TIMESTAMP).
    3. `range` bounds the integer if statistics prove bounds; a value of form 2 always has one.
    4. `constant` is the integer of a literal.
    5. With `values`, `sql` is instead an index into them, never NULL.
    6. `extent` bounds the bytes of a text or collection if they are known before it is computed; `unchecked` is its SQL
       without its own size check.
    7. `code` calculates the same integer or truth value, or aggregate, from the rows of one scan; None: no code does.
    """

    sql: str
    dtype: DataType
    range: ColumnRange | None = None
    integer_type: str | None = None
    constant: int | None = None
    values: tuple[str | None, ...] = ()
    extent: Extent | None = None
    unchecked: str = ""
    code: Code | None = field(default=None, compare=False)

    @property
    def is_simple(self) -> bool:
        """Whether repeating `sql` costs nothing."""
        return (self.sql.startswith('"') and self.sql.count('"') == 2 and self.sql.endswith('"')) or (
            self.constant is not None
        )

    @property
    def scale(self) -> int:
        return self.dtype.scale if isinstance(self.dtype, DecimalType) else 0

    def sized(self) -> Sized:
        """Return the logical value with its extent."""
        sql, extent = self.logical(), self.extent
        if extent is None and has_extent(self.dtype):
            if self.values:
                extent = Extent(Size(max(len((value or "").encode()) for value in self.values)))
            elif self.is_simple:
                extent = leaf_extent(sql, self.dtype)
        return Sized(sql, self.dtype, extent, self.unchecked)

    def logical(self) -> str:
        """Return the SQL of the value in the DuckDB type of its logical type."""
        if self.integer_type is None or self.range is None:
            return self.sql
        if self.values:
            return decoded(self.sql, self.values)
        target = duckdb_type(self.dtype)
        if self.dtype in INTEGER_TYPES:
            return self.sql if target == self.integer_type else f"CAST({self.sql} AS {target})"
        if self.dtype == DOUBLE:
            return f"CAST({self.sql} AS DOUBLE)"
        if self.dtype == DATE:
            return f"(DATE '1970-01-01' + CAST({self.sql} AS INTEGER))"
        if self.dtype == TIMESTAMP:
            return f"make_timestamp(CAST({self.sql} AS BIGINT))"
        if isinstance(self.dtype, DecimalType):
            return _decimal(self.sql, self.range, self.dtype)
        raise InternalError(f"{self.dtype} has no integer form")

    def ordered(self) -> str:
        """Return the SQL of a value with the same order, and NULL for NULL."""
        if not self.values:
            return self.sql
        known = [value for value in self.values if value is not None]
        return self.null_or_index() if known == sorted(known) else self.logical()

    def or_null(self) -> Value:
        """Return the value of a column that an outer join may leave NULL."""
        if not self.values:
            return self
        return replace(
            self, sql=f"coalesce({self.sql}, CAST({len(self.values) - 1} AS {self.integer_type}))", code=None
        )

    def null_or_index(self) -> str:
        """Return the SQL of the index into the values, or NULL."""
        return f"nullif({self.sql}, {len(self.values) - 1})"

    def integer(self) -> Value | None:
        """Return the same value in integer form, or None if it is not known to have one."""
        if self.integer_type is not None:
            return None if self.integer_type == HUGE or self.values else self
        if self.constant is not None and self.range is not None and self.range.sql_type is not None:
            known = Value(str(self.constant), self.dtype, self.range, self.range.sql_type, self.constant)
            return replace(known, code=self.code)
        if self.dtype in INTEGER_TYPES and self.range is not None:
            return Value(self.sql, self.dtype, self.range, duckdb_type(self.dtype), code=self.code)
        return None

    def renamed(self, name: str) -> Value:
        """Return the value as a column of an inner query."""
        return Value(f'"{name}"', self.dtype, self.range, self.integer_type, values=self.values, code=self.code)


Scope = Mapping[int, Value]
"""Values by column id."""


def _decimal(sql: str, known: ColumnRange, dtype: DecimalType) -> str:
    """Move the digits of scaled integers past the decimal point by an exact multiplication of minimal width."""
    target = duckdb_type(dtype)
    digits = max(len(str(known.magnitude)), 1)
    if dtype.scale == 0:
        return f"CAST({sql} AS {target})"
    unit = f"CAST('{Decimal(1).scaleb(-dtype.scale):f}' AS DECIMAL({dtype.scale},{dtype.scale}))"
    return f"CAST((CAST({sql} AS DECIMAL({digits},0)) * {unit}) AS {target})"


def decoded(index: str, values: tuple[str | None, ...]) -> str:
    """Return the SQL of the item of `values` at `index`."""
    items = ", ".join("NULL" if value is None else lower_literal(value, STRING) for value in values)
    return f"list_extract([{items}], CAST({index} AS BIGINT) + 1)"


def literal_integer(value: object, dtype: DataType) -> int | None:
    """Return the integer form of a literal: scaled, days, or microseconds; None if it has none."""
    if isinstance(value, bool) or value is None:
        return None
    if dtype in INTEGER_TYPES and isinstance(value, int):
        return value
    if isinstance(dtype, DecimalType) and isinstance(value, (int, Decimal)):
        scaled = Decimal(value).scaleb(dtype.scale, _ALL_DIGITS)
        return int(scaled) if scaled == scaled.to_integral_value() else None
    if dtype == DATE and isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if dtype == TIMESTAMP and isinstance(value, datetime.datetime):
        return (value - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    return None
