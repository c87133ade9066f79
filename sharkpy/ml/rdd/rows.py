"""Typed rows with names: one tuple class per schema, made from Arrow batches at nearly the cost of plain tuples.

Functions of a TableRDD's tasks make rows, pairs or batches of the frames of a query's last stage.
"""

from __future__ import annotations

import base64
import datetime
import json
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cache
from itertools import repeat
from typing import Any, ClassVar, SupportsIndex, cast, overload

import pyarrow as pa

from sharkpy.base.errors import ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.python_values import typed_values
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
    is_string,
)

_CLASS = "Row_"
"""Prefix of the names of row classes; the schema follows."""


class Row(tuple[Any, ...]):
    """Row of a query: a tuple whose values have names and Hive types.

    1. `row.age`, `row["age"]` and `row[0]` are the same. A column named like a keyword or a method (`count`, `index`,
       …) is read by `row["count"]`.
    2. `get_int("age")` and similar methods, by name or position, check the column's type; NULL is None.
    3. A row equals the tuple of its values and has the same hash. It pickles by its schema and its values.
    4. `_fields`, `_asdict` and `_replace` are the same as in a namedtuple: pandas, polars and Spark find the names by
       them.
    """

    __slots__ = ()
    schema: ClassVar[Schema]
    columns: ClassVar[tuple[str, ...]]
    """Names of the columns."""
    _fields: ClassVar[tuple[str, ...]]
    _field_defaults: ClassVar[dict[str, object]] = {}
    _positions: ClassVar[dict[str, int]]
    _readable: ClassVar[dict[str, dict[str | int, int]]]
    """Positions of the columns that each getter reads, by name and by position."""

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Any:
        if isinstance(key, str):
            place = self._positions.get(key)
            return tuple.__getitem__(self, self._position(key) if place is None else place)
        return tuple.__getitem__(self, key)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name.lower() in self._positions:
            return tuple.__getitem__(self, self._positions[name.lower()])
        raise AttributeError(_no_column(name, self.columns).message)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in zip(self.columns, self, strict=True))})"

    def as_dict(self) -> dict[str, Any]:
        """Values by name, in the order of the columns."""
        return dict(zip(self.columns, self, strict=True))

    def _replace(self, **values: Any) -> Row:
        """Return a copy of the row with other values for some names."""
        for name in values:
            self._position(name)
        return tuple.__new__(
            type(self), (values.get(name, value) for name, value in zip(self.columns, self, strict=True))
        )

    def is_null(self, column: str | int) -> bool:
        return self[column] is None

    def get_boolean(self, column: str | int) -> bool | None:
        value: bool | None = self._typed(column, "get_boolean")
        return value

    def get_byte(self, column: str | int) -> int | None:
        """Value of a TINYINT column."""
        value: int | None = self._typed(column, "get_byte")
        return value

    def get_short(self, column: str | int) -> int | None:
        """Value of a SMALLINT column, or of a narrower integer."""
        value: int | None = self._typed(column, "get_short")
        return value

    def get_int(self, column: str | int) -> int | None:
        """Value of an INT column, or of a narrower integer."""
        value: int | None = self._typed(column, "get_int")
        return value

    def get_long(self, column: str | int) -> int | None:
        """Value of a column of any integer type."""
        value: int | None = self._typed(column, "get_long")
        return value

    def get_float(self, column: str | int) -> float | None:
        value: float | None = self._typed(column, "get_float")
        return value

    def get_double(self, column: str | int) -> float | None:
        """Value of a DOUBLE or FLOAT column, or of an integer that a double holds exactly."""
        value = self._typed(column, "get_double")
        return None if value is None else float(value)

    def get_decimal(self, column: str | int) -> Decimal | None:
        value: Decimal | None = self._typed(column, "get_decimal")
        return value

    def get_string(self, column: str | int) -> str | None:
        """Value of a STRING, VARCHAR or CHAR column."""
        value: str | None = self._typed(column, "get_string")
        return value

    def get_binary(self, column: str | int) -> bytes | None:
        value: bytes | None = self._typed(column, "get_binary")
        return value

    def get_date(self, column: str | int) -> datetime.date | None:
        value: datetime.date | None = self._typed(column, "get_date")
        return value

    def get_timestamp(self, column: str | int) -> datetime.datetime | None:
        """Value of a TIMESTAMP column, without a zone."""
        value: datetime.datetime | None = self._typed(column, "get_timestamp")
        return value

    def get_array(self, column: str | int) -> list[Any] | None:
        value: list[Any] | None = self._typed(column, "get_array")
        return value

    def get_map(self, column: str | int) -> dict[Any, Any] | None:
        value: dict[Any, Any] | None = self._typed(column, "get_map")
        return value

    def get_struct(self, column: str | int) -> dict[str, Any] | None:
        value: dict[str, Any] | None = self._typed(column, "get_struct")
        return value

    # Shark's names.
    getBoolean, getByte, getShort, getInt, getLong = get_boolean, get_byte, get_short, get_int, get_long  # noqa: N815
    getFloat, getDouble, getDecimal, getString = get_float, get_double, get_decimal, get_string  # noqa: N815
    getBinary, getDate, getTimestamp = get_binary, get_date, get_timestamp  # noqa: N815
    getArray, getMap, getStruct, isNull = get_array, get_map, get_struct, is_null  # noqa: N815
    asDict = as_dict  # noqa: N815
    _asdict = as_dict

    def _position(self, name: str) -> int:
        position = self._positions.get(name.lower())
        if position is None:
            raise _no_column(name, self.columns)
        return position

    def _typed(self, column: str | int, getter: str) -> Any:
        place = self._readable[getter].get(column)
        return tuple.__getitem__(self, self._checked(column, getter) if place is None else place)

    def _checked(self, column: str | int, getter: str) -> int:
        """Return the position of a column that is given in an unusual way. Raise TypeMismatchError if the getter does
        not read it.
        """
        place = self._position(column) if isinstance(column, str) else column
        if not -len(self) <= place < len(self):
            raise ColumnNotFoundError(f"no column {place}: the row has {len(self)}")
        field = self.schema.fields[place]
        if not _GETTERS[getter](field.dtype):
            raise TypeMismatchError(f"{getter} of column {field.name}, which is {field.dtype}")
        return place


def _one_of(*dtypes: DataType) -> Callable[[DataType], bool]:
    return lambda dtype: dtype in dtypes


def _is_a(kind: type[DataType]) -> Callable[[DataType], bool]:
    return lambda dtype: isinstance(dtype, kind)


_GETTERS: dict[str, Callable[[DataType], bool]] = {
    "get_boolean": _one_of(BOOLEAN),
    "get_byte": _one_of(TINYINT),
    "get_short": _one_of(TINYINT, SMALLINT),
    "get_int": _one_of(TINYINT, SMALLINT, INT),
    "get_long": _one_of(TINYINT, SMALLINT, INT, BIGINT),
    "get_float": _one_of(FLOAT),
    "get_double": _one_of(TINYINT, SMALLINT, INT, FLOAT, DOUBLE),
    "get_decimal": _is_a(DecimalType),
    "get_string": is_string,
    "get_binary": _one_of(BINARY),
    "get_date": _one_of(DATE),
    "get_timestamp": _one_of(TIMESTAMP),
    "get_array": _is_a(ArrayType),
    "get_map": _is_a(MapType),
    "get_struct": _is_a(StructType),
}
"""Types of columns that each getter reads; it returns their values unchanged."""


def row_class(schema: Schema) -> type[Row]:
    """Return the class of the rows of `schema`. A process has one for equal schemas."""
    content = json.dumps([(field.name, _type_json(field.dtype)) for field in schema], separators=(",", ":"))
    return _named_class(_CLASS + base64.urlsafe_b64encode(content.encode()).decode().rstrip("="))


def __getattr__(name: str) -> object:
    """Return a row class as an attribute of this module, under a name made of its schema, so that it pickles by
    reference.
    """
    if name.startswith(_CLASS):
        return _named_class(name)
    raise AttributeError(f'module "{__name__}" has no attribute "{name}"')


@cache
def _named_class(name: str) -> type[Row]:
    text = name.removeprefix(_CLASS)
    columns = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    schema = Schema(tuple(Field(column, _type_of(dtype)) for column, dtype in columns))
    # The descriptors of a namedtuple read a value without calling __getitem__.
    slots = namedtuple("slots", [f"c{position}" for position in range(len(schema))])  # type: ignore[misc]
    # If columns have the same name, it belongs to the first.
    places = {name: place for place, name in reversed([*enumerate(schema.names)])}
    members: dict[str, object] = {
        column: getattr(slots, f"c{place}")
        for column, place in places.items()
        if not hasattr(Row, column) and column not in Row.__annotations__
    }
    own = {"__slots__": (), "__module__": __name__, "__qualname__": name, "__doc__": f"A row of {text_of(schema)}."}
    facts = {
        "schema": schema,
        "columns": schema.names,
        "_fields": schema.names,
        "_positions": {name.lower(): place for name, place in places.items()} | places,
        "_readable": {getter: _places(schema, reads) for getter, reads in _GETTERS.items()},
    }
    return cast("type[Row]", type("Row", (Row,), members | own | facts))


def _places(schema: Schema, reads: Callable[[DataType], bool]) -> dict[str | int, int]:
    found: dict[str | int, int] = {}
    for place, field in reversed([*enumerate(schema)]):
        if reads(field.dtype):
            found |= {field.name: place, place: place}
    return found


def _type_json(dtype: DataType) -> object:
    """Return a type as JSON: text, except for nested types, because names of their fields may be anything."""
    match dtype:
        case ArrayType(element):
            return [_type_json(element)]
        case MapType(key, value):
            return [_type_json(key), _type_json(value)]
        case StructType(names, types):
            return {name: _type_json(part) for name, part in zip(names, types, strict=True)}
    return str(dtype)


def _type_of(content: Any) -> DataType:
    match content:
        case [element]:
            return ArrayType(_type_of(element))
        case [key, value]:
            return MapType(_type_of(key), _type_of(value))
        case dict():
            return StructType(tuple(content), tuple(map(_type_of, content.values())))
    return parse_type(content)


def text_of(schema: Schema) -> str:
    """Return columns as DESCRIBE names them."""
    return ", ".join(f"{field.name} {field.dtype}" for field in schema)


def rows_of(batches: Iterable[pa.RecordBatch], schema: Schema) -> Iterator[Row]:
    """Yield the rows of batches with the Arrow types of `schema`, one after the other."""
    made, new = row_class(schema), cast("Callable[[type[Row], tuple[Any, ...]], Row]", tuple.__new__)
    types = [field.dtype for field in schema]
    for batch in batches:
        if not batch.num_columns:
            yield from repeat(new(made, ()), batch.num_rows)
        yield from map(new, repeat(made), zip(*map(typed_values, batch.columns, types), strict=True))


def _no_column(name: str, columns: tuple[str, ...]) -> ColumnNotFoundError:
    there = f"there are {', '.join(columns)}" if columns else "there are none"
    return ColumnNotFoundError(f'no column "{name}": {there}', hint=did_you_mean(name, columns))


Batches = Callable[[int, Iterable[bytes]], Iterator[pa.RecordBatch]]
"""Function from a partition's number and its frames to the batches of the query's rows."""


@dataclass(frozen=True, slots=True)
class RowFunction:
    """Function from a task's frames to its rows."""

    batches: Batches
    schema: Schema

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[Row]:
        return rows_of(self.batches(partition, frames), self.schema)


@dataclass(frozen=True, slots=True)
class KeyedRowFunction:
    """Function from a task's frames to its rows, each after its values of the columns `keys`."""

    batches: Batches
    schema: Schema
    keys: tuple[int, ...]

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[tuple[Any, Row]]:
        types = [field.dtype for field in self.schema]
        for batch in self.batches(partition, frames):
            parts = [typed_values(batch.column(key), types[key]) for key in self.keys]
            keys = parts[0] if len(parts) == 1 else zip(*parts, strict=True)
            yield from zip(keys, rows_of([batch], self.schema), strict=True)


@dataclass(frozen=True, slots=True)
class BatchFunction:
    """Function from a task's frames to its batches, under the query's names."""

    batches: Batches
    schema: pa.Schema

    def __call__(self, partition: int, frames: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        for batch in self.batches(partition, frames):
            if batch.num_rows:
                yield named(batch, self.schema)


@dataclass(frozen=True, slots=True)
class EachBatch:
    """Function that applies f to each batch."""

    f: Callable[[pa.RecordBatch], Any]

    def __call__(self, _: int, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        return map(self.f, batches)


def named(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if not schema.names:
        return batch
    columns = [cast_column(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def num_rows(batch: pa.RecordBatch) -> int:
    return int(batch.num_rows)
