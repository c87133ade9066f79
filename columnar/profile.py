"""Profile of one column of a block, computed once at loading for statistics, codec choice and codecs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.cached_property import cached_property
from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.domain import Domain, domain_of
from sharkpy.columnar.value_sets import INDEX_BITS, estimate, no_hashes, registers_of
from sharkpy.values import types as t

Array = np.ndarray[Any, np.dtype[Any]]

SAMPLE_RUNS = 16
SAMPLE_RUN_ROWS = 256
DISTINCT_LIMIT = 64
_UNIQUE_SHARE = 0.9
"""Share of distinct strings in a sample above which all are taken for distinct: hashing would add no information."""
_LEAST_REPEATS = 0.25
"""Share of distinct values in all rows below which a dictionary may be worth its hashing."""
_BASE_ZERO = 0
_MANY_STRINGS = 1 << 12
"""Number of strings from which a compiled loop helps to sort them."""
_MAX_DIGITS = 6
"""Most decimal digits of floats that are stored as integers."""


@dataclass(frozen=True, slots=True)
class IntegerProfile:
    """Extremes and steps of a column's integers. Nulls are filled with a valid value."""

    values: Array
    low: int
    high: int
    runs: int
    min_delta: int
    max_delta: int


@dataclass(frozen=True, slots=True)
class Narrowing:
    """value = base + factor * code, codes up to `top`."""

    base: int
    factor: int
    top: int


class ColumnProfile:
    """A column in its logical Arrow type with derived properties. It has at least one row.

    A string column without nulls may be an Arrow dictionary: it is not hashed again.
    """

    def __init__(self, array: pa.Array[Any], dtype: t.DataType) -> None:
        self._given = array
        self._coded = array if isinstance(array, pa.DictionaryArray) and array.null_count == 0 else None
        self.dtype = dtype
        self.num_rows = len(array)
        self.null_count = array.null_count
        self.domain = domain_of(dtype)

    @cached_property
    def array(self) -> pa.Array[Any]:
        if isinstance(self._given, pa.DictionaryArray):
            return self._given.cast(t.to_arrow(self.dtype))
        return self._given

    def validity(self) -> dict[str, pa.Array[Any]]:
        """The part "validity" of the column, or no part if it has no nulls."""
        return arrow_buffers.validity_part(self.array) if self.null_count else {}

    @cached_property
    def plain_bytes(self) -> int:
        """Bytes of the values in Arrow's layout."""
        if self._coded is None:
            return int(self.array.nbytes)
        codes, values = self.dictionary or build_dictionary(self.array)
        return 4 * (self.num_rows + 1) + int(kernels.sum_of_codes(codes, _lengths(values)))

    @property
    def num_valid(self) -> int:
        return self.num_rows - self.null_count

    @cached_property
    def filled(self) -> pa.Array[Any]:
        """The array with nulls replaced by a valid value; unchanged without nulls and for nested types."""
        if self.null_count == 0 or self.num_valid == 0 or t.is_nested(self.dtype):
            return self.array
        if self.domain is Domain.BYTES:
            return pc.fill_null(self.array, pa.scalar("" if t.is_string(self.dtype) else b"", self.array.type))
        return pc.fill_null(self.array, self.array[pc.index(self.array.is_valid(), True).as_py()])

    @cached_property
    def integers(self) -> IntegerProfile | None:
        if not arrow_buffers.is_integral(self.dtype) or self.num_valid == 0:
            return None
        values = arrow_buffers.integers_of(self.filled, self.dtype)
        if values is None:
            return None
        found = kernels.profile_integers(values)
        low, high, runs, min_delta, max_delta = (int(figure) for figure in found)
        if high - low >= 1 << 63:
            min_delta, max_delta = -(1 << 63), (1 << 63) - 1
        return IntegerProfile(values, low, high, runs, min_delta, max_delta)

    @cached_property
    def narrowing(self) -> Narrowing | None:
        """The cheapest base and factor for the integers. Base 0 is preferred if it does not widen the codes."""
        integers = self.integers
        if integers is None:
            return None
        spread = integers.high - integers.low
        factor = 1
        if spread >= 1 << 8:
            factor = int(kernels.common_factor(integers.values, integers.low)) or 1
        if factor >= 1 << 63:
            factor = 1
        base, top = integers.low, spread // factor
        if integers.low >= 0 and integers.low % factor == 0:
            zero_top = integers.high // factor
            if arrow_buffers.code_width(zero_top) == arrow_buffers.code_width(top):
                base, top = _BASE_ZERO, zero_top
        return Narrowing(base, factor, top)

    @cached_property
    def codes(self) -> Array | None:
        """The narrow codes, or None if they need more than 32 bits."""
        narrowing, integers = self.narrowing, self.integers
        if narrowing is None or integers is None or (width := arrow_buffers.code_width(narrowing.top)) is None:
            return None
        out = np.empty(self.num_rows, width)
        if narrowing.factor == 1:
            kernels.narrow(integers.values, narrowing.base, out)
        else:
            kernels.narrow_factor(integers.values, narrowing.base, narrowing.factor, out)
        return out

    @cached_property
    def scaled(self) -> tuple[int, ColumnProfile] | None:
        """(digits, profile of the integers) for the fewest decimal digits with which integers represent all floats."""
        if self.domain is not Domain.FLOAT or self.num_valid == 0:
            return None
        floats = arrow_buffers.view(self.filled, "f8" if self.dtype == t.DOUBLE else "f4")
        head = np.empty(min(len(floats), 256), np.int64)
        for digits in range(_MAX_DIGITS + 1):
            if not kernels.scale_floats(floats[: len(head)], 10.0**digits, head):
                continue
            whole = np.empty(len(floats), np.int64)
            if kernels.scale_floats(floats, 10.0**digits, whole):
                return digits, ColumnProfile(arrow_buffers.part(whole), t.BIGINT)
        return None

    @cached_property
    def physical(self) -> pa.Array[Any]:
        """Values that can be hashed bitwise: floats and decimals as integers, else the filled array itself."""
        if self.dtype == t.DOUBLE:
            return self.filled.view(pa.int64())
        if self.dtype == t.FLOAT:
            return self.filled.view(pa.int32())
        if self.integers is not None and isinstance(self.dtype, t.DecimalType):
            return arrow_buffers.part(self.integers.values)
        return self.filled

    @cached_property
    def sample(self) -> pa.Array[Any]:
        """Runs of neighbouring rows, spread over the column."""
        if self.num_rows <= SAMPLE_RUNS * SAMPLE_RUN_ROWS:
            return self.physical
        starts = np.linspace(0, self.num_rows - SAMPLE_RUN_ROWS, SAMPLE_RUNS).astype(np.int64)
        whole = self.physical if self._coded is None else self._coded
        pieces = [whole.slice(int(start), SAMPLE_RUN_ROWS) for start in starts]
        if self._coded is not None:
            pieces = [piece.cast(t.to_arrow(self.dtype)) for piece in pieces]
        return pa.concat_arrays(pieces)

    @cached_property
    def sample_distinct(self) -> int:
        return int(pc.count_distinct(self.sample).as_py())

    @cached_property
    def dictionary(self) -> tuple[Array, pa.Array[Any]] | None:
        """(codes, sorted distinct physical values), or None if a sample shows that values hardly repeat."""
        if self.num_valid == 0 or self.domain is Domain.NONE:
            return None
        if self._coded is not None:
            return sorted_dictionary(self._coded)
        if self.num_rows > 4096 and self.sample_distinct > len(self.sample) // 2 and not self._repeats:
            return None
        return build_dictionary(self.physical)

    @cached_property
    def num_distinct(self) -> int:
        """Number of distinct valid values: exact if they are few or fully hashed, else estimated."""
        if self.num_valid == 0 or self.domain is Domain.NONE:
            return 0
        codes = self.codes
        if codes is not None and codes.itemsize <= 2:
            return len(self.present_codes)
        if self.domain is Domain.BYTES or self.integers is None:
            if self.dictionary is not None:
                return len(self.dictionary[1])
            if self.domain is Domain.BYTES or self.physical.type.bit_width not in (32, 64):
                sketch = self.sketch
                return self._scaled_sample() if sketch is None else max(1, round(estimate(sketch)))
        return self._hashed[0]

    @cached_property
    def _hashed(self) -> tuple[int, Array]:
        """Number of distinct values, and the smallest hashes of all rows' numbers."""
        if self.codes is not None and self.narrowing is not None:
            return _count_by_hash(self.codes, self.narrowing.base, self.narrowing.factor)
        return _count_by_hash(arrow_buffers.view(self.physical, f"i{self.physical.type.bit_width // 8}"), 0, 1)

    @cached_property
    def sketch(self) -> Array | None:
        """Registers of the distinct values (`distinct_sketch`), or None if they would take another pass."""
        if self.num_valid == 0 or self.domain is Domain.NONE:
            return None
        if "_hashed" in self.__dict__:
            return registers_of(self._hashed[1])
        least = no_hashes()
        if self.integers is not None:
            if self.codes is None or self.narrowing is None or self.codes.itemsize > 2:
                return registers_of(self._hashed[1])
            kernels.hash_numbers(self.present_codes, self.narrowing.base, self.narrowing.factor, INDEX_BITS, least)
        elif self.domain is Domain.INTEGER:
            return None
        elif self.domain is Domain.BYTES:
            if self.dictionary is None and self.sample_distinct > _UNIQUE_SHARE * len(self.sample):
                return None
            strings = self.filled if self.dictionary is None else self.dictionary[1]
            kernels.hash_strings(*string_parts(strings), INDEX_BITS, least)
        elif self.dictionary is None:
            return None
        else:
            values = self.dictionary[1]
            kernels.hash_numbers(arrow_buffers.view(values, f"i{values.type.bit_width // 8}"), 0, 1, INDEX_BITS, least)
        return registers_of(least)

    @cached_property
    def present_codes(self) -> Array:
        """The sorted narrow codes that occur. Only for codes of at most 16 bits."""
        codes = self.codes
        assert codes is not None
        assert codes.itemsize <= 2
        seen = np.zeros(1 << (8 * codes.itemsize), np.uint8)
        kernels.presence(codes, seen)
        return np.flatnonzero(seen)

    @property
    def _repeats(self) -> bool:
        """Whether values repeat often enough for a dictionary, by the pairs of equal values in the sample.

        n values out of D have about n² / 2D such pairs.
        """
        size = len(self.sample)
        return size * size < 2 * (size - self.sample_distinct) * _LEAST_REPEATS * self.num_rows

    def _scaled_sample(self) -> int:
        share = self.sample_distinct / max(len(self.sample), 1)
        return self.sample_distinct if share < 0.5 else max(int(share * self.num_rows), 1)


def build_dictionary(values: pa.Array[Any]) -> tuple[Array, pa.Array[Any]]:
    """Return (codes, sorted dictionary) of an array without nulls."""
    encoded = values.dictionary_encode()
    every = np.arange(len(encoded.dictionary))
    return _ranked(arrow_buffers.view(encoded.indices, "i4"), every, encoded.dictionary, every)


def sorted_dictionary(encoded: pa.DictionaryArray[Any, Any]) -> tuple[Array, pa.Array[Any]]:
    """Return (codes, sorted dictionary) of a dictionary array without nulls, without its unused values."""
    distinct = encoded.dictionary.dictionary_encode()
    places = arrow_buffers.view(distinct.indices, "i4")
    indices = arrow_buffers.view(encoded.indices, f"i{encoded.indices.type.bit_width // 8}")
    seen = np.zeros(len(places), np.uint8)
    kernels.presence(indices, seen)
    used = np.zeros(len(distinct.dictionary), np.bool_)
    used[places[seen.view(np.bool_)]] = True
    return _ranked(indices, places, distinct.dictionary, np.flatnonzero(used))


def _ranked(indices: Array, places: Array, distinct: pa.Array[Any], used: Array) -> tuple[Array, pa.Array[Any]]:
    """Return (codes, sorted dictionary) of the values distinct[places[index]]. `used` has the places that occur."""
    values = distinct if len(used) == len(distinct) else distinct.take(arrow_buffers.part(used))
    order = _order(values)
    ranks = np.zeros(len(distinct), arrow_buffers.code_width(len(used)))
    ranks[used[order]] = np.arange(len(used), dtype=ranks.dtype)
    codes = np.empty(len(indices), ranks.dtype)
    kernels.recode(indices, ranks[places], codes)
    return codes, values.take(arrow_buffers.part(order))


def _order(values: pa.Array[Any]) -> Array:
    """Return the positions of distinct values in their order. The first bytes that differ decide for most strings."""
    if len(values) > _MANY_STRINGS and (pa.types.is_string(values.type) or pa.types.is_binary(values.type)):
        keys = np.empty(len(values), np.uint64)
        kernels.order_keys(*string_parts(values), keys)
        order = np.argsort(keys)
        keys = keys[order]
        if (keys[1:] != keys[:-1]).all():
            return order
    return arrow_buffers.view(pc.array_sort_indices(values), "u8")


def _lengths(values: pa.Array[Any]) -> Array:
    """Return the bytes of each string."""
    strings: Any = values
    return arrow_buffers.view(pc.binary_length(strings), "i4")


def string_parts(values: pa.Array[Any]) -> tuple[Array, Array]:
    """Return offsets and bytes of an array of strings."""
    offsets, data = arrow_buffers.buffer(values, 1), arrow_buffers.buffer(values, 2)
    starts = np.frombuffer(memoryview(offsets), np.int32)[values.offset : values.offset + len(values) + 1]
    return starts, np.frombuffer(memoryview(data) if data.size else b"\0", np.uint8)


def _count_by_hash(keys: Array, base: int, factor: int) -> tuple[int, Array]:
    """Count by linear counting: about 1 % error while there are fewer distinct values than slots in the table."""
    bits = max(10, min(22, (2 * len(keys) - 1).bit_length()))
    slots = 1 << bits
    least, marks = no_hashes(), np.zeros(slots // 64, np.uint64)
    kernels.mark_hashes(keys, base, factor, bits, marks, INDEX_BITS, least)
    marked = int(np.bitwise_count(marks).sum())
    if marked >= slots:
        return len(keys), least
    return min(len(keys), max(marked, round(-slots * float(np.log1p(-marked / slots))))), least
