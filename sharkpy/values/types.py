"""Hive's types and schemas, and their forms in Arrow.

Values exist in memory only as Arrow. `to_arrow` returns the Arrow type of a column (TIMESTAMP is microseconds without a
zone, DECIMAL is decimal128, CHAR and VARCHAR are strings).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from sharkpy.base.errors import ColumnNotFoundError, UnsupportedError, did_you_mean
from sharkpy.base.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class DataType:
    """A Hive type. `str()` returns its HiveQL spelling, as DESCRIBE prints it."""

    def __str__(self) -> str:
        return type(self).__name__.removesuffix("Type").lower()

    def __hash__(self) -> int:
        return hash(type(self).__name__)


class NullType(DataType):
    """The type of an untyped NULL."""

    __slots__ = ()

    def __str__(self) -> str:
        return "void"


class BooleanType(DataType):
    __slots__ = ()


class TinyIntType(DataType):
    __slots__ = ()


class SmallIntType(DataType):
    __slots__ = ()


class IntType(DataType):
    __slots__ = ()


class BigIntType(DataType):
    __slots__ = ()


class FloatType(DataType):
    __slots__ = ()


class DoubleType(DataType):
    __slots__ = ()


class StringType(DataType):
    __slots__ = ()


class BinaryType(DataType):
    __slots__ = ()


class DateType(DataType):
    __slots__ = ()


class TimestampType(DataType):
    __slots__ = ()


class YearMonthIntervalType(DataType):
    """Months. Only for literals and arithmetic, never stored. Python value: int months."""

    __slots__ = ()

    def __str__(self) -> str:
        return "interval_year_month"


class DayTimeIntervalType(DataType):
    """Microseconds. Only for literals and arithmetic, never stored. Python value: int microseconds."""

    __slots__ = ()

    def __str__(self) -> str:
        return "interval_day_time"


@dataclass(frozen=True, slots=True)
class DecimalType(DataType):
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class VarcharType(DataType):
    length: int

    def __str__(self) -> str:
        return f"varchar({self.length})"


@dataclass(frozen=True, slots=True)
class CharType(DataType):
    length: int

    def __str__(self) -> str:
        return f"char({self.length})"


@dataclass(frozen=True, slots=True)
class ArrayType(DataType):
    element: DataType

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType(DataType):
    key: DataType
    value: DataType

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class StructType(DataType):
    names: tuple[str, ...]
    types: tuple[DataType, ...]

    def __str__(self) -> str:
        fields = ",".join(f"{name}:{dtype}" for name, dtype in zip(self.names, self.types, strict=True))
        return f"struct<{fields}>"


NULL = NullType()
BOOLEAN = BooleanType()
TINYINT = TinyIntType()
SMALLINT = SmallIntType()
INT = IntType()
BIGINT = BigIntType()
FLOAT = FloatType()
DOUBLE = DoubleType()
STRING = StringType()
BINARY = BinaryType()
DATE = DateType()
TIMESTAMP = TimestampType()
INTERVAL_YEAR_MONTH = YearMonthIntervalType()
INTERVAL_DAY_TIME = DayTimeIntervalType()

INTEGER_TYPES: tuple[DataType, ...] = (TINYINT, SMALLINT, INT, BIGINT)
NUMERIC_TYPES: tuple[DataType, ...] = (*INTEGER_TYPES, FLOAT, DOUBLE)
"""Numeric types except DECIMAL, in the order in which each is converted to a later one."""
_FEW_FIELDS = 16

PRIMITIVES: dict[str, DataType] = {
    "void": NULL,
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "double precision": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "decimal": DecimalType(10, 0),
    "numeric": DecimalType(10, 0),
    "interval_year_month": INTERVAL_YEAR_MONTH,
    "interval_day_time": INTERVAL_DAY_TIME,
}


@dataclass(frozen=True, slots=True)
class Field:
    """A named, typed column of a schema. Names are lower case."""

    name: str
    dtype: DataType
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Schema:
    """An ordered set of fields with distinct names."""

    fields: tuple[Field, ...]
    _by_name: dict[str, Field] | None = field(default=None, init=False, repr=False, compare=False)
    """Index of wide schemas, built at first use."""
    _names: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        if self._names is None:
            object.__setattr__(self, "_names", tuple(field.name for field in self.fields))
        return self._names or ()

    def has(self, name: str) -> bool:
        """Return whether there is a field of that name. In wide schemas this is faster than a search in `names`."""
        return self._find(name) is not None

    def __getitem__(self, name: str) -> Field:
        if (found := self._find(name)) is None:
            raise ColumnNotFoundError(f'no column "{name}"', hint=did_you_mean(name, self.names))
        return found

    def __reduce__(self) -> tuple[type[Schema], tuple[tuple[Field, ...]]]:
        return Schema, (self.fields,)

    def _find(self, name: str) -> Field | None:
        if len(self.fields) <= _FEW_FIELDS:
            return next((one for one in self.fields if one.name == name), None)
        if self._by_name is None:
            object.__setattr__(self, "_by_name", {one.name: one for one in self.fields})
        return self._by_name.get(name) if self._by_name is not None else None

    def select(self, names: Iterable[str]) -> Schema:
        return Schema(tuple(self[name] for name in names))


def is_numeric(dtype: DataType) -> bool:
    return dtype in NUMERIC_TYPES or isinstance(dtype, DecimalType)


def is_string(dtype: DataType) -> bool:
    return isinstance(dtype, (StringType, VarcharType, CharType))


def is_nested(dtype: DataType) -> bool:
    return isinstance(dtype, (ArrayType, MapType, StructType))


def has_null_type(dtype: DataType) -> bool:
    """Return True if the type is the type of an untyped NULL, or contains it."""
    match dtype:
        case ArrayType(element):
            return has_null_type(element)
        case MapType(key, value):
            return has_null_type(key) or has_null_type(value)
        case StructType(_, types):
            return any(map(has_null_type, types))
    return dtype == NULL


def has_map(dtype: DataType) -> bool:
    """Return whether the type contains a map: such values have no order and no hash."""
    match dtype:
        case ArrayType(element):
            return has_map(element)
        case StructType(types=types):
            return any(map(has_map, types))
    return isinstance(dtype, MapType)


def is_interval(dtype: DataType) -> bool:
    return isinstance(dtype, (YearMonthIntervalType, DayTimeIntervalType))


def to_arrow(dtype: DataType) -> pa.DataType:
    """Return the Arrow type of a column. Intervals are int32 months and int64 microseconds."""
    import pyarrow as pa

    match dtype:
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case VarcharType() | CharType():
            return pa.string()
        case ArrayType(element):
            return pa.list_(to_arrow(element))
        case MapType(key, value):
            return pa.map_(to_arrow(key), to_arrow(value))
        case StructType(names, types):
            return pa.struct([(name, to_arrow(t)) for name, t in zip(names, types, strict=True)])
    return _plain_arrow_types()[dtype]


@functools.cache
def _plain_arrow_types() -> dict[DataType, pa.DataType]:
    import pyarrow as pa

    return {
        NULL: pa.null(),
        BOOLEAN: pa.bool_(),
        TINYINT: pa.int8(),
        SMALLINT: pa.int16(),
        INT: pa.int32(),
        BIGINT: pa.int64(),
        FLOAT: pa.float32(),
        DOUBLE: pa.float64(),
        STRING: pa.string(),
        BINARY: pa.binary(),
        DATE: pa.date32(),
        TIMESTAMP: pa.timestamp("us"),
        INTERVAL_YEAR_MONTH: pa.int32(),
        INTERVAL_DAY_TIME: pa.int64(),
    }


def from_arrow(arrow_type: pa.DataType) -> DataType:
    """Return the Hive type nearest to an Arrow type. Unsigned integers widen; timestamps lose their unit and zone."""
    import pyarrow as pa
    import pyarrow.types as pat

    if pat.is_dictionary(arrow_type) or pat.is_run_end_encoded(arrow_type):
        return from_arrow(arrow_type.value_type)
    if pat.is_decimal(arrow_type):
        if arrow_type.precision > MAX_PRECISION:
            raise UnsupportedError(f"decimal of {arrow_type.precision} digits: at most {MAX_PRECISION} are supported")
        return DecimalType(arrow_type.precision, arrow_type.scale)
    if pat.is_timestamp(arrow_type):
        return TIMESTAMP
    if pat.is_list(arrow_type) or pat.is_large_list(arrow_type) or pat.is_fixed_size_list(arrow_type):
        return ArrayType(from_arrow(arrow_type.value_type))
    if pat.is_map(arrow_type):
        return MapType(from_arrow(arrow_type.key_type), from_arrow(arrow_type.item_type))
    if pat.is_struct(arrow_type):
        fields = [arrow_type.field(index) for index in range(arrow_type.num_fields)]
        return StructType(tuple(f.name for f in fields), tuple(from_arrow(f.type) for f in fields))
    if pat.is_fixed_size_binary(arrow_type):
        return BINARY
    simple: dict[pa.DataType, DataType] = {
        pa.null(): NULL,
        pa.bool_(): BOOLEAN,
        pa.int8(): TINYINT,
        pa.int16(): SMALLINT,
        pa.int32(): INT,
        pa.int64(): BIGINT,
        pa.uint8(): SMALLINT,
        pa.uint16(): INT,
        pa.uint32(): BIGINT,
        pa.uint64(): DecimalType(20, 0),
        pa.float16(): FLOAT,
        pa.float32(): FLOAT,
        pa.float64(): DOUBLE,
        pa.string(): STRING,
        pa.large_string(): STRING,
        pa.string_view(): STRING,
        pa.binary(): BINARY,
        pa.large_binary(): BINARY,
        pa.binary_view(): BINARY,
        pa.date32(): DATE,
        pa.date64(): DATE,
    }
    if arrow_type not in simple:
        raise UnsupportedError(f"Arrow type {arrow_type} has no Hive counterpart")
    return simple[arrow_type]


def arrow_schema(schema: Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(field.name, to_arrow(field.dtype)) for field in schema])


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names in order, with a number appended to repeated ones, as in DuckDB: `a`, `a_1`, `a_2`."""
    taken, numbers = set(names), Counter[str]()
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        made = name
        while made in seen or (made != name and made in taken):
            numbers[name] += 1
            made = f"{name}_{numbers[name]}"
        seen.add(made)
        found.append(made)
    return found
