"""Many constants of one type as an Arrow array: an expression per constant would need fifty times the memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sharkpy.values.types import (
    DATE,
    DOUBLE,
    INTEGER_TYPES,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
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
        if not known or not has_sets(dtype):
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


def has_sets(dtype: DataType) -> bool:
    """Return whether constants of a type can form a set: DuckDB must read their text back unchanged."""
    is_text = dtype == STRING or isinstance(dtype, VarcharType)
    return is_text or dtype in (*INTEGER_TYPES, DOUBLE, DATE, TIMESTAMP) or isinstance(dtype, DecimalType)
