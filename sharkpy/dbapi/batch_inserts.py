"""INSERT INTO … VALUES (…) with many sets of parameters: one statement, which writes its files once.

Many rows are inserted by way of a temporary table: that costs less than writing them as text.
"""

from __future__ import annotations

import contextlib
import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharkpy.base.records import dataclass
from sharkpy.sql.grammar.parser import tokenize
from sharkpy.sql.parameters import BoundText, Parameters, Placeholder, insert_values, parameter_values, placeholders
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
    from sharkpy.sql.grammar.parser import Token


@dataclass(frozen=True, slots=True)
class InsertRows:
    """Template of such an INSERT: `head` without placeholders, VALUES, and one `row` in parentheses."""

    template: str
    head: str
    row: str
    places: tuple[Placeholder, ...]
    """Placeholders of `row`."""

    def text(self, sets: Sequence[Parameters]) -> BoundText:
        """Return one statement with a row for each of `sets`. Errors of a row are placed at VALUES."""
        rows = (insert_values(self.row, self.places, parameter_values(self.places, one)).text for one in sets)
        return self.with_source("VALUES " + ",".join(rows))

    def with_source(self, source: str) -> BoundText:
        """Return the statement with `source` in place of everything after the head."""
        length = len(self.head)
        return BoundText(self.head + source, self.template, ((0, 0), (length, length), (length + 1, length)))

    @property
    def is_plain(self) -> bool:
        """True if the row consists of placeholders only."""
        pieces, end = [], 0
        for one in self.places:
            pieces.append(self.row[end : one.start])
            end = one.end
        return "".join((*pieces, self.row[end:])).replace(" ", "") == "(" + "," * (len(self.places) - 1) + ")"


def find_insert(template: str) -> InsertRows | None:
    """Find the template of an INSERT. Return None for other statements, such as INSERT OVERWRITE."""
    tokens = tokenize(template)
    words = [token.text.upper() for token in tokens]
    if words[:2] != ["INSERT", "INTO"] or "VALUES" not in words:
        return None
    start = words.index("VALUES") + 1
    found = placeholders(template, named=False, tokens=tokens)
    if not found or start >= len(tokens) or list(_closed_at(tokens[start:])) != [len(tokens) - start - 1]:
        return None
    first, last = tokens[start].start, tokens[-1].end + 1
    if found[0].start < first:
        return None
    places = tuple(Placeholder(one.start - first, one.end - first, None, one.is_enclosed) for one in found)
    return InsertRows(template, template[: tokens[start - 1].start], template[first:last], places)


def _closed_at(tokens: Sequence[Token]) -> Iterator[int]:
    """Return the indexes of the tokens after which no parenthesis is open."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth <= 0:
            yield index


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
