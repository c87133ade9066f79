"""An encoded column, the forms in which it can be scanned, and the interface of a codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.values.types import DataType

if TYPE_CHECKING:
    from sharkpy.columnar.profile import ColumnProfile

Param = int | str


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A column of `num_rows` values of `dtype` under one codec.

    1. `parts` are primitive Arrow arrays without nulls and without offset: codes, values, offsets, data and so on. A
       part may be chunked until it is written; its chunks are stored as one array without an earlier copy.
    2. The part "validity" is a bitmap (uint8, least significant bit first). It is absent if no value is null.
    3. `children` are columns that this codec has encoded further: the values of a dictionary or of runs.
    """

    encoding: str
    dtype: DataType
    num_rows: int
    params: dict[str, Param] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    children: dict[str, EncodedColumn] = field(default_factory=dict)

    def flat_parts(self, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """Yield all parts in a fixed order. Parts of children are named `child/part`."""
        for name, part in self.parts.items():
            yield prefix + name, part
        for name, child in self.children.items():
            yield from child.flat_parts(f"{prefix}{name}/")

    @property
    def size_bytes(self) -> int:
        return sum(len(part) * (part.type.bit_width // 8) for _, part in self.flat_parts())

    @property
    def validity(self) -> pa.Buffer | None:
        """Bitmap of the valid values, or None if all are valid."""
        bits = self.parts.get("validity")
        return None if bits is None else bits.buffers()[1]

    def param(self, name: str) -> int:
        return int(self.params[name])


@dataclass(frozen=True, slots=True)
class Decoded:
    """Values in the logical type."""

    array: pa.Array[Any]


@dataclass(frozen=True, slots=True)
class DictionaryForm:
    """Values as dictionary codes, without a conversion."""

    array: pa.DictionaryArray[Any, Any]


@dataclass(frozen=True, slots=True)
class NarrowForm:
    """Integer codes of a column: value = base + factor * array, unscaled by `scale` decimal digits for DECIMAL.

    `array` is uint8, uint16 or uint32 with the column's nulls. DATE counts days, TIMESTAMP microseconds. SQL must cast
    it to BIGINT before arithmetic, since arithmetic of 8 bits overflows.
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
    """A way to encode columns.

    1. `estimate` returns the cost in bytes, weighted by the cost of a scan, or None if the codec does not apply.
    2. `encode` is called for the cheapest codec or a forced one. It returns None if the codec does not apply after all.
    3. `decode` restores equal values in the logical Arrow type. `scan_form` returns the form that is cheapest to scan.
    """

    name: str
    estimate: Callable[[ColumnProfile], float | None]
    encode: Callable[[ColumnProfile], EncodedColumn | None]
    decode: Callable[[EncodedColumn], pa.Array[Any]]
    scan_form: Callable[[EncodedColumn], ScanForm]
