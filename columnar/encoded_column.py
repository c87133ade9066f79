"""An encoded column, the forms in which it can be scanned, and the shape of a codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from sharkpy.columnar.profile import ColumnProfile

Param = int | str


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A column of `num_rows` values of `dtype` under one codec.

    1. `parts` are primitive Arrow arrays without nulls and without offset: codes, values, offsets, data, …. Before it
       is written a part may be chunked: it is stored as one, chunk after chunk, without a copy before that.
    2. The part "validity" is a bitmap (uint8, least significant bit first); absent where no value is null.
    3. `children` are columns that this codec has encoded further: a dictionary's values, a run's values.
    """

    encoding: str
    dtype: DataType
    num_rows: int
    params: dict[str, Param] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    children: dict[str, EncodedColumn] = field(default_factory=dict)

    def flat_parts(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """All parts, those of children under `child/part`, in a fixed order."""
        for name, part in self.parts.items():
            yield prefix + name, part
        for name, child in self.children.items():
            yield from child.flat_parts(f"{prefix}{name}/")

    @property
    def size_bytes(self) -> int:
        return sum(len(part) * (part.type.bit_width // 8) for _, part in self.flat_parts())

    @property
    def validity(self) -> pa.Buffer | None:
        """Bitmap of the valid values; None where all are."""
        bits = self.parts.get("validity")
        return None if bits is None else bits.buffers()[1]

    def param(self, name: str) -> int:
        return int(self.params[name])


@dataclass(frozen=True, slots=True)
class Decoded:
    """The column's values in the logical type."""

    array: pa.Array[Any]


@dataclass(frozen=True, slots=True)
class DictionaryForm:
    """The column as dictionary codes, taken as they are stored."""

    array: pa.DictionaryArray[Any, Any]


@dataclass(frozen=True, slots=True)
class NarrowForm:
    """Integers behind a column: value = base + factor * array, unscaled by `scale` decimal digits for DECIMAL.

    `array` is uint8, uint16 or uint32 with the column's nulls; DATE counts days, TIMESTAMP microseconds. SQL has
    to cast it to BIGINT before it multiplies or adds: arithmetic of 8 bits overflows.
    """

    array: pa.Array[Any]
    base: int
    factor: int
    dtype: DataType

    @property
    def scale(self) -> int:
        return getattr(self.dtype, "scale", 0)


ScanForm = Decoded | DictionaryForm | NarrowForm


@dataclass(frozen=True, slots=True)
class Codec:
    """Codec: a way to encode columns.

    1. `estimate` gives the cost in bytes, weighed by how dear the codec is to scan; None where it does not apply.
    2. `encode` is called on the cheapest, or on a forced one; None where it does not apply after all.
    3. `decode` gives back equal values in the logical Arrow type, `scan_form` the cheapest form to scan.
    """

    name: str
    estimate: Callable[[ColumnProfile], float | None]
    encode: Callable[[ColumnProfile], EncodedColumn | None]
    decode: Callable[[EncodedColumn], pa.Array[Any]]
    scan_form: Callable[[EncodedColumn], ScanForm]
