"""Type of a CSV column from its values: the type that Spark infers, or one that preserves the texts exactly.

For exact types, 01234 is not a number.
"""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.csv_files.options import CsvOptions
from sharkpy.sources.csv_files.values import values_of
from sharkpy.values.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, DecimalType

_WHOLE_NUMBER = r"^[+-]?0*([0-9]{1,38})$"
_WHOLE_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_DECIMAL = DecimalType(38, 0)
"""Placeholder type of integers beyond BIGINT."""
_DIGITS = {INT: 10, BIGINT: 20}
"""Digits of the DECIMAL that holds a type's numbers."""
_NUMBER_TYPES: tuple[DataType, ...] = (INT, BIGINT, _DECIMAL, DOUBLE)
_CANDIDATES: tuple[DataType, ...] = (*_NUMBER_TYPES, DATE, TIMESTAMP, BOOLEAN)
"""Types in the order in which they are tried."""


@dataclass(slots=True)
class InferredTypes:
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
            is_one = pc.match_substring_regex(texts, _WHOLE_NUMBER)
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
        if not self.types or not set(self.types) <= set(_NUMBER_TYPES):
            return STRING
        widest = max(self.types, key=_NUMBER_TYPES.index)
        return self._decimal if widest == _DECIMAL else widest

    @property
    def _decimal(self) -> DecimalType:
        earlier = self.types[: self.types.index(_DECIMAL)]
        return DecimalType(max([self.digits, *(_DIGITS[one] for one in earlier)]), 0)


_WHOLE, _REAL, _SPECIAL, _DATE, _TIME, _BOOLEAN = range(6)
_PATTERNS = {
    _WHOLE: r"^(0|-?[1-9][0-9]*)$",
    # An exponent needs a sign or a fraction: 1e5 may be a name.
    _REAL: r"^-?((0|[1-9][0-9]*)?\.[0-9]+([eE][+-]?[0-9]+)?|(0|[1-9][0-9]*)[eE][+-][0-9]+)$",
    _SPECIAL: r"^(NaN|-?Infinity)$",
    _DATE: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    _TIME: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0{0,3})?)?Z?$",
    _BOOLEAN: r"^(true|false|True|False|TRUE|FALSE)$",
}
"""Texts of each kind. Fractions may end with zeros, which do not change the number."""
_TYPES: dict[int, DataType] = {_DATE: DATE, _TIME: TIMESTAMP, _SPECIAL: DOUBLE, _REAL: DOUBLE}
_NUMBERS = frozenset((_WHOLE, _REAL, _SPECIAL))
_MOST_DIGITS = 38
_DOUBLE_DIGITS = 15
"""Most digits that every DOUBLE preserves."""


@dataclass(slots=True)
class ExactTypes:
    """Type of a column's values so far. Without any values it is STRING."""

    options: CsvOptions
    kinds: set[int] = field(default_factory=set)
    has_others: bool = False
    are_ints: bool = True
    are_bigints: bool = True
    are_doubles: bool = True
    """True if each number is preserved by a DOUBLE."""
    has_exponents: bool = False
    whole_digits: int = 1
    scale: int = 0

    def add(self, texts: Array) -> None:
        left = texts.drop_null()
        if self.has_others or not len(left):
            return
        left = left.unique()
        for kind, pattern in _PATTERNS.items():
            is_one = self._are(left, kind, pattern)
            if pc.any(is_one, min_count=0).as_py():
                self.kinds.add(kind)
                if kind in (_WHOLE, _REAL):
                    self._measure(left.filter(is_one), kind)
                left = left.filter(pc.invert(is_one))
            if not len(left):
                return
        self.has_others = True

    def _are(self, texts: Array, kind: int, pattern: str) -> Array:
        is_date = kind in (_DATE, _TIME)
        given = {_DATE: self.options.date_format, _TIME: self.options.timestamp_format}.get(kind)
        is_one = pc.is_valid(texts) if given else pc.match_substring_regex(texts, pattern)
        if not is_date or not pc.any(is_one, min_count=0).as_py():
            return is_one
        known = pc.if_else(is_one, texts, pa.scalar(None, texts.type))
        return pc.is_valid(values_of(known, _TYPES[kind], self.options))

    def _measure(self, numbers: Array, kind: int) -> None:
        if kind == _WHOLE:
            self.are_ints = self.are_ints and self._all_are(numbers, INT)
            self.are_bigints = self.are_ints or (self.are_bigints and self._all_are(numbers, BIGINT))
        digits = pc.replace_substring_regex(numbers, r"^-", "")
        whole = pc.replace_substring_regex(digits, r"[.eE].*$", "")
        fraction = pc.replace_substring_regex(digits, r"^[^.]*\.?|[eE].*$", "")
        self.has_exponents = self.has_exponents or _any(pc.match_substring_regex(numbers, "[eE]"))
        self.whole_digits = max(self.whole_digits, pc.max(pc.utf8_length(whole)).as_py())
        self.scale = max(self.scale, pc.max(pc.utf8_length(fraction)).as_py()) if kind == _REAL else self.scale
        if self.are_doubles:
            significant = pc.replace_substring_regex(digits, r"[eE].*$|\.", "")
            significant = pc.replace_substring_regex(significant, r"^0+|0+$", "")
            is_long = pc.greater(pc.utf8_length(significant), _DOUBLE_DIGITS)
            is_checked = pc.or_(is_long, pc.match_substring_regex(numbers, "[eE]"))
            self.are_doubles = not _any(is_checked) or _are_doubles(numbers.filter(is_checked))

    def _all_are(self, texts: Array, dtype: DataType) -> bool:
        return bool(values_of(texts, dtype, self.options).null_count == 0)

    @property
    def dtype(self) -> DataType:
        if self.has_others or not self.kinds:
            return STRING
        if self.kinds <= {_DATE, _TIME}:
            return TIMESTAMP if _TIME in self.kinds else DATE
        if self.kinds == {_BOOLEAN}:
            return BOOLEAN
        return self._number if self.kinds <= _NUMBERS and self.kinds != {_SPECIAL} else STRING

    @property
    def _number(self) -> DataType:
        if self.kinds == {_WHOLE} and self.are_bigints:
            return INT if self.are_ints else BIGINT
        if self.kinds != {_WHOLE} and self.are_doubles:
            return DOUBLE
        precision = self.whole_digits + self.scale
        has_form = not self.has_exponents and _SPECIAL not in self.kinds
        return DecimalType(precision, self.scale) if has_form and precision <= _MOST_DIGITS else STRING


def _any(found: Array) -> bool:
    return bool(pc.any(found, min_count=0).as_py())


def _are_doubles(numbers: Array) -> bool:
    """True if a DOUBLE preserves each number. Only numbers in other than the shortest form are compared one by one."""
    doubles = pc.cast(numbers, pa.float64())
    others = numbers.filter(pc.not_equal(pc.cast(doubles, pa.string()), numbers))
    return all(np.isfinite(float(text)) and Decimal(repr(float(text))) == Decimal(text) for text in others.to_pylist())
