"""Rows of many parameter sets, inserted by way of a temporary table: that costs less than writing them as text."""

from __future__ import annotations

import contextlib
import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.dbapi.insert_rows import InsertRows
from sharkpy.sql.parameters import BoundText, Parameters, parameter_values
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.model import Table
    from sharkpy.session.shark_context import SharkContext

LEAST_ROWS = 200
_TYPES: dict[type, DataType] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bytes: BINARY,
    datetime.date: DATE,
    datetime.datetime: TIMESTAMP,
}


@contextlib.contextmanager
def staged_rows(session: SharkContext, insert: InsertRows, sets: Sequence[Parameters]) -> Iterator[BoundText | None]:
    """Yield a statement that inserts from a temporary table, which exists inside the context. Yield None if the rows
    have to be text: if they are few, have more than placeholders, or a column has values of several types.
    """
    if len(sets) < LEAST_ROWS or not insert.is_plain:
        yield None
        return
    columns = list(zip(*(parameter_values(insert.places, one) for one in sets), strict=True))
    types = [_column_type(column) for column in columns]
    if any(dtype is None for dtype in types):
        yield None
        return
    stored = {f"c{index}": dtype for index, dtype in enumerate(types) if dtype is not None and dtype != NULL}
    arrays = {name: columns[int(name[1:])] for name in stored}
    database, name = session.current_database, f"parameters_{uuid.uuid4().hex}"
    if not stored or (table := _arrow_table(stored, arrays)) is None:
        yield None
        return
    qualified = f"`{database}`.{name}"
    session.sql(f"CREATE TEMPORARY TABLE {qualified} ({_declared(stored)}) STORED AS PARQUET").close()
    try:
        _write(session.catalog.table(database, name), table)
        items = (f"c{index}" if dtype != NULL else "NULL" for index, dtype in enumerate(types))
        yield insert.with_source(f"SELECT {', '.join(items)} FROM {qualified}")
    finally:
        session.sql(f"DROP TABLE {qualified}").close()


def _declared(types: dict[str, DataType]) -> str:
    return ", ".join(f"{name} {dtype}" for name, dtype in types.items())


def _column_type(values: Sequence[object]) -> DataType | None:
    """Return the common type of all values: NULL if there are none, None if they differ or have no type."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return NULL
    if len(kinds) > 1:
        return None
    kind = kinds.pop()
    return _decimal_type(values) if kind is Decimal else _TYPES.get(kind)


def _decimal_type(values: Sequence[Any]) -> DataType | None:
    known = [value for value in values if value is not None]
    if not all(value.is_finite() for value in known):
        return None
    scale = max(max(-value.as_tuple().exponent, 0) for value in known)
    whole = max(max(value.adjusted() + 1, 0) for value in known)
    return DecimalType(max(whole + scale, 1), scale) if whole + scale <= MAX_PRECISION else None


def _arrow_table(types: dict[str, DataType], columns: Mapping[str, Sequence[object]]) -> pa.Table | None:
    """Return an Arrow table of the rows, or None if a value does not fit: its literal then raises the error."""
    import pyarrow as pa

    if any(getattr(value, "tzinfo", None) for column in columns.values() for value in column):
        return None
    try:
        return pa.table({name: pa.array(columns[name], to_arrow(dtype)) for name, dtype in types.items()})
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        return None


def _write(table: Table, rows: pa.Table) -> None:
    import pyarrow.parquet as pq

    folder = Path(table.location or "")
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / "part-0.parquet")
