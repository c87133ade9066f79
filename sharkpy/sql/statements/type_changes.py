"""Allowed type changes of a table's column: to types that can hold all old values (Hive's ColumnType)."""

from __future__ import annotations

from sharkpy.values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
    is_nested,
    is_string,
)

_RANKS: dict[DataType, int] = {TINYINT: 1, SMALLINT: 2, INT: 3, BIGINT: 4, FLOAT: 6, DOUBLE: 7}
_DECIMAL_RANK = 5


def can_become(old: DataType, new: DataType) -> bool:
    """Return whether Hive allows a type change with hive.metastore.disallow.incompatible.col.type.changes."""
    if old in (new, NULL):
        return True
    if is_nested(old) or is_nested(new):
        return type(old) is type(new)
    if is_string(new):
        return is_string(old) or _rank(old) is not None or old in (DATE, TIMESTAMP)
    before, after = _rank(old), _rank(new)
    if is_string(old):
        return new == DOUBLE or isinstance(new, DecimalType)
    if before is None or after is None:
        return False
    return before < after or (isinstance(old, DecimalType) and isinstance(new, DecimalType))


def _rank(dtype: DataType) -> int | None:
    return _DECIMAL_RANK if isinstance(dtype, DecimalType) else _RANKS.get(dtype)
