"""Statistics of a block's columns as stored in its file: one text per column, parsed when the column is read."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xxhash

from sharkpy.columnar.column_statistics import ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.values.type_parser import parse_type, type_text

Array = np.ndarray[Any, np.dtype[Any]]
RECORD = np.dtype(
    [
        ("name", "<u8"),
        ("layout", "<u8"),
        ("layout_bytes", "<u4"),
        ("statistics_bytes", "<u4"),
        ("statistics", "<u8"),
        ("size_bytes", "<u8"),
        ("layout_digest", "<u8"),
    ]
)
"""Directory entry of a column: a hash of its name, the positions of its layout and its statistics, its encoded bytes,
and a checksum of the layout.
"""


def hash_of(name: str) -> int:
    """Return the number by which a directory finds a column."""
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


def place_of(directory: Array, name: str) -> int | None:
    """Return the index of a column in the directory, or None if it has no such column."""
    found = np.flatnonzero(directory["name"] == np.uint64(hash_of(name)))
    return int(found[0]) if len(found) else None


@dataclass(frozen=True, slots=True)
class PackedStatistics:
    """Statistics of a block's columns. The cost of reading one column does not depend on the other columns."""

    num_rows: int
    records: bytes = field(repr=False)
    """The block's directory."""
    texts: bytes = field(repr=False)

    def __getitem__(self, name: str) -> ColumnStatistics:
        place = place_of(self._directory, name)
        if place is None:
            raise KeyError(name)
        found, statistics = self._at(place)
        if found != name:
            raise KeyError(name)
        return statistics

    @property
    def columns(self) -> tuple[tuple[str, ColumnStatistics], ...]:
        """The statistics of all columns, in the order of the block's schema."""
        return tuple(self._at(place) for place in range(len(self._directory)))

    @property
    def sizes(self) -> list[int]:
        """Encoded bytes of all columns, in the order of the block's schema."""
        return self._directory["size_bytes"].tolist()  # type: ignore[no-any-return]

    @property
    def _directory(self) -> Array:
        return np.frombuffer(self.records, RECORD)

    def _at(self, place: int) -> tuple[str, ColumnStatistics]:
        record = self._directory[place]
        start, size = int(record["statistics"]), int(record["statistics_bytes"])
        return _parsed(self.texts[start : start + size], self.num_rows, int(record["size_bytes"]))


def texts_of(columns: Sequence[tuple[str, ColumnStatistics]]) -> list[bytes]:
    """Return the text of each column."""
    return [_text(name, stats) for name, stats in columns]


def _text(name: str, stats: ColumnStatistics) -> bytes:
    distinct = None if stats.distinct is None else [_stored(value) for value in stats.distinct]
    low, high = (None if value is None else _stored(value) for value in (stats.low, stats.high))
    sketch = None if stats.sketch is None else base64.b64encode(stats.sketch).decode()
    fields = (
        name,
        type_text(stats.dtype),
        stats.null_count,
        low,
        high,
        stats.exact,
        stats.has_nan,
        distinct,
        stats.num_distinct,
        sketch,
    )
    return json.dumps(fields, separators=(",", ":")).encode()


def _parsed(text: bytes, num_rows: int, size_bytes: int) -> tuple[str, ColumnStatistics]:
    name, of_type, nulls, low, high, exact, has_nan, distinct, num_distinct, sketch = json.loads(text)
    dtype = parse_type(of_type)
    domain = domain_of(dtype)
    statistics = ColumnStatistics(
        dtype,
        num_rows,
        nulls,
        None if low is None else _value(low, domain),
        None if high is None else _value(high, domain),
        exact,
        has_nan,
        None if distinct is None else tuple(_value(value, domain) for value in distinct),
        num_distinct,
        size_bytes,
        None if sketch is None else base64.b64decode(sketch),
    )
    return name, statistics


def _stored(value: DomainValue) -> object:
    match value:
        case bytes():
            return value.decode("latin-1")
        case float():
            return value.hex()
    return value


def _value(value: object, domain: Domain) -> DomainValue:
    match domain, value:
        case Domain.BYTES, str():
            return value.encode("latin-1")
        case Domain.FLOAT, str():
            return float.fromhex(value)
        case Domain.INTEGER, int():
            return value
    raise ValueError(f"statistics hold {value!r} for {domain}")
