"""Type of a CSV column from its values, as Spark infers it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.values import values_of
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, DecimalType

_WHOLE = r"^[+-]?0*([0-9]{1,38})$"
_WHOLE_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DECIMAL = DecimalType(38, 0)
"""Placeholder type of integers beyond BIGINT."""
_DIGITS = {INT: 10, BIGINT: 20}
"""Digits of the DECIMAL that holds a type's numbers."""
_NUMBERS: tuple[DataType, ...] = (INT, BIGINT, _DECIMAL, DOUBLE)
_CANDIDATES: tuple[DataType, ...] = (*_NUMBERS, DATE, TIMESTAMP, BOOLEAN)
"""Types in the order in which they are tried."""


@dataclass(slots=True)
class SeenTypes:
    """Types of a column's values, in the order of their first occurrence; `dtype` is a common type for them."""

    options: CsvOptions
    types: tuple[DataType, ...] = ()
    digits: int = 0
    """Most digits of an integer beyond BIGINT."""

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
