"""Arrow data in plans: sets of constants, and rows that a Python program provides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

from sharkpy.base.records import dataclass
from sharkpy.values.types import (
    DATE,
    DOUBLE,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    Schema,
    VarcharType,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class ConstantSet:
    """Distinct constants of type `dtype`, at least one, without NULL. Equal if they are the same in the same order."""

    dtype: DataType
    values: pa.Array[Any]
    has_null: bool = False

    @classmethod
    def of_values(cls, dtype: DataType, values: Sequence[object]) -> ConstantSet | None:
        """Return the set of Python values, in which None is NULL. Return None if all are NULL, or the type has
        no sets.
        """
        import pyarrow as pa

        known = [value for value in values if value is not None]
        if not known or not has_constant_sets(dtype):
            return None
        return cls.of_array(dtype, pa.array(known, to_arrow(dtype)), has_null=len(known) < len(values))

    @classmethod
    def of_array(cls, dtype: DataType, values: pa.Array[Any], *, has_null: bool = False) -> ConstantSet:
        return cls(dtype, values.unique(), has_null)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstantSet):
            return NotImplemented
        is_alike = (self.dtype, self.has_null) == (other.dtype, other.has_null)
        return is_alike and bool(self.values.equals(other.values))

    def __hash__(self) -> int:
        return hash((self.dtype, self.has_null, len(self.values), self.values[0].as_py(), self.values[-1].as_py()))

    def contains(self, value: object) -> bool | None:
        """Evaluate `value IN (…)` for a Python value of `dtype` or None, under three-valued logic."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if value is None:
            return None
        is_found = pc.index(self.values, pa.scalar(value, self.values.type)).as_py() >= 0
        return True if is_found else None if self.has_null else False

    def bounds(self) -> tuple[Any, Any]:
        """Return the smallest and the largest of the constants."""
        import pyarrow.compute as pc

        found: dict[str, Any] = pc.min_max(self.values).as_py()  # type: ignore[assignment]  # the stubs know no struct
        return found["min"], found["max"]

    def __str__(self) -> str:
        shown = ", ".join(str(value) for value in self.values[:_SHOWN].to_pylist())
        more = len(self) - _SHOWN
        return f"({shown}, … {more:,} more)" if more > 0 else f"({shown})"


def has_constant_sets(dtype: DataType) -> bool:
    """Return whether constants of a type can form a set: DuckDB must read their text back unchanged."""
    is_text = dtype == STRING or isinstance(dtype, VarcharType)
    return is_text or dtype in (*INTEGER_TYPES, DOUBLE, DATE, TIMESTAMP) or isinstance(dtype, DecimalType)


RowReader = Callable[[Iterable[object], int], Iterator["pa.RecordBatch"]]
"""Reads the rows of one part, with the part's number, as Arrow batches. Their columns have the order and Arrow types of
`GivenRows.schema`. Picklable. Errors are SharkErrors.
"""


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """Rows from a Python program.

    1. Parts are the partitions of `rdd`, a pyspark RDD whose tasks read them, or a single part `here` in this process.
    2. `label` names the rows in EXPLAIN and errors: `an RDD`, `a pandas DataFrame`.
    """

    label: str
    schema: Schema
    read: RowReader = field(repr=False)
    rdd: Any = field(default=None, repr=False)
    here: Iterable[object] = field(default=(), repr=False)
    num_rows: int | None = None
    """Number of rows, or None if unknown."""

    @property
    def is_here(self) -> bool:
        """Whether the rows are in this process, which then writes them wherever queries are placed."""
        return self.rdd is None

    @property
    def num_parts(self) -> int:
        return 1 if self.rdd is None else int(self.rdd.getNumPartitions())


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """`RowReader` of Arrow tables with the columns of the schema."""

    def __call__(self, tables: Iterable[object], _number: int) -> Iterator[pa.RecordBatch]:
        for table in tables:
            yield from cast("pa.Table", table).to_batches()
