"""Columns of CSV files: their names from the header, their types from all values, as Spark infers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.csv_files.multi_line import first_tokens
from sharkpy.sources.csv_files.options import CsvOptions, csv_options
from sharkpy.sources.csv_files.source import CsvSource
from sharkpy.sources.csv_files.values import values_of
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.sources.whole_files import utf8_chunks
from sharkpy.values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    Field,
    Schema,
)

_MOST_COLUMNS = 50_000
_SPLIT_BYTES = 1 << 26
_WHOLE = r"^[+-]?0*([0-9]{1,38})$"
_WHOLE_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DECIMAL = DecimalType(38, 0)
"""Stands for whole numbers beyond BIGINT."""
_DIGITS = {INT: 10, BIGINT: 20}
"""Digits of the DECIMAL that takes a type's numbers in."""
_NUMBERS: tuple[DataType, ...] = (INT, BIGINT, _DECIMAL, DOUBLE)
_CANDIDATES: tuple[DataType, ...] = (*_NUMBERS, DATE, TIMESTAMP, BOOLEAN)
"""Types in the order in which they are tried."""


def inferred_columns(files: Sequence[DataFile], properties: Properties) -> Schema:
    """SourceError where no row tells the columns."""
    options = csv_options(properties)
    wholes = (Split.of(file, CSV, properties, 0, file.size_bytes) for file in files)
    found = (first_tokens(utf8_chunks(one, options.encoding), options, one.path) for one in wholes)
    first = next((tokens for tokens in found if tokens is not None), None)
    if first is None:
        raise SourceError("the columns of a CSV table are not known: its files have no row", sqlstate="42000")
    if len(first) > _MOST_COLUMNS:
        raise ResourceError(f"a table has at most {_MOST_COLUMNS:,} columns, not {len(first):,}", sqlstate="54011")
    names = _names(first, options)
    texts = Schema(tuple(Field(name, STRING) for name in names))
    if not options.infer_schema:
        return texts
    columns = [_SeenTypes(options) for _ in names]
    for batch in _texts(files, texts, properties):
        for column, array in zip(columns, batch.columns, strict=True):
            check_cancelled()
            column.add(array)
    return Schema(tuple(Field(name, column.dtype) for name, column in zip(names, columns, strict=True)))


def _texts(files: Sequence[DataFile], texts: Schema, properties: Properties) -> Iterator[pa.RecordBatch]:
    """Fields of all rows, those of malformed ones too."""
    reader = CsvSource()
    others = [(key, value) for key, value in properties if key not in ("mode", "columnNameOfCorruptRecord")]
    lenient = (*others, ("columnNameOfCorruptRecord", ""))
    for split in reader.splits(files, texts, lenient, _SPLIT_BYTES):
        yield from reader.read(split, texts, texts.names)


def _names(first: Sequence[str | None], options: CsvOptions) -> list[str]:
    """Names of columns: those of the header, with the place where one is missing or there twice."""
    if not options.header:
        return [f"_c{place}" for place in range(len(first))]
    counts = Counter(name.lower() for name in first if name)
    return [_name(name or "", place, counts, options).lower() for place, name in enumerate(first)]


def _name(name: str, place: int, counts: Counter[str], options: CsvOptions) -> str:
    if not name or name == options.null:
        return f"_c{place}"
    return f"{name}{place}" if counts[name.lower()] > 1 else name


@dataclass(slots=True)
class _SeenTypes:
    """Types that the values of a column are of, in the order in which they were seen."""

    options: CsvOptions
    types: tuple[DataType, ...] = ()
    digits: int = 0
    """Most digits of whole numbers beyond BIGINT."""

    def add(self, texts: Array) -> None:
        if STRING in self.types:
            return
        values = texts.drop_null().unique()
        left, found = np.arange(len(values)), list[tuple[int, DataType]]()
        for dtype in _CANDIDATES:
            if not len(left):
                break
            is_one = self._are(values.take(pa.array(left)), dtype)
            if is_one.any():
                found.append((int(left[is_one][0]), dtype))
            left = left[~is_one]
        if len(left):
            found.append((int(left[0]), STRING))
        for _, dtype in sorted(found, key=lambda one: one[0]):
            if dtype not in self.types:
                self.types = (*self.types, dtype)

    def _are(self, texts: Array, dtype: DataType) -> np.ndarray:
        if dtype == _DECIMAL:
            digits = pc.replace_substring_regex(texts, r"^[+-]?0*", "")
            is_one = pc.match_substring_regex(texts, _WHOLE)
            longest = pc.max(pc.utf8_length(pc.filter(digits, is_one))).as_py()
            self.digits = max(self.digits, longest or 0)
        elif dtype == DATE and not self.options.prefer_date:
            is_one = pa.repeat(False, len(texts))
        else:
            is_one = pc.is_valid(values_of(texts, dtype, self.options))
        if dtype == DATE and self.options.date_format is None:
            is_one = pc.and_(is_one, pc.match_substring_regex(texts, _WHOLE_DATE))
        return np.asarray(is_one.to_numpy(zero_copy_only=False))

    @property
    def dtype(self) -> DataType:
        match self.types:
            case (one,) if one != _DECIMAL:
                return one
            case first, second if (first, second) == (TIMESTAMP, DATE):
                return TIMESTAMP
        if not self.types or not set(self.types) <= set(_NUMBERS):
            return STRING
        widest = max(self.types, key=_NUMBERS.index)
        return self._decimal if widest == _DECIMAL else widest

    @property
    def _decimal(self) -> DecimalType:
        earlier = self.types[: self.types.index(_DECIMAL)]
        return DecimalType(max([self.digits, *(_DIGITS[one] for one in earlier)]), 0)
