"""Upper bounds of the bytes of values, as cheap DuckDB SQL over columns: `strlen("c1") + 3`.

The bounds follow expressions from the leaves up, so that no expression is computed twice to get its size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.udf.duckdb_sql import balanced, integer_value, string_value
from sharkpy.values.types import BINARY, ArrayType, DataType, MapType, is_nested, is_string

ITEM_BYTES = 16
"""Bytes of an array item, without its content."""
_NUMBER_BYTES = 64
"""Bytes of values without a text of their own: numbers, times, and texts made from them."""
_LONGEST = 1000
"""Length of SQL from which an expression is neither repeated nor its size passed on."""
_VARIABLE = re.compile(r"\bv\d+\b")
COLUMN = re.compile(r'"|\bv\d+\b')
"""Occurs in SQL that reads a column or a variable."""
_VARYING = re.compile(r"\b(?:random|uuid)\(")


@dataclass(frozen=True, slots=True)
class Size:
    """An upper bound: `fixed` plus the SQL `terms`, which are NULL if a value is NULL."""

    fixed: int = 0
    terms: tuple[str, ...] = ()

    def __add__(self, other: Size) -> Size:
        return Size(self.fixed + other.fixed, self.terms + other.terms)

    def times(self, count: Size) -> Size:
        if not count.terms:
            return Size(self.fixed * count.fixed, tuple(f"{count.fixed}e0 * {term}" for term in self.terms))
        if not self.terms:
            return count.times(self)
        return Size(0, (f"CAST({self.sql} AS DOUBLE) * {count.sql}",))

    @property
    def sql(self) -> str:
        return balanced("+", [*self.terms, *([str(self.fixed)] if self.fixed or not self.terms else [])])

    @property
    def is_known(self) -> bool:
        return not self.terms

    @property
    def is_long(self) -> bool:
        return sum(map(len, self.terms)) > _LONGEST

    def over_null(self) -> Size:
        """Return the same bound with 0 for NULL terms."""
        return Size(self.fixed, tuple(f"coalesce({term}, 0)" for term in self.terms))

    def outside_functions(self) -> Size:
        """Return the bound without the terms that depend on variables of a function over items."""
        return Size(self.fixed, tuple(term for term in self.terms if not _VARIABLE.search(term)))


def total(sizes: Iterable[Size]) -> Size:
    known = list(sizes)
    return Size(sum(size.fixed for size in known), tuple(term for size in known for term in size.terms))


def greatest(sizes: Sequence[Size]) -> Size:
    if len(set(sizes)) == 1:
        return sizes[0]
    if not any(size.terms for size in sizes):
        return Size(max((size.fixed for size in sizes), default=_NUMBER_BYTES))
    return Size(0, (f"greatest({', '.join(dict.fromkeys(size.sql for size in sizes))})",))


@dataclass(frozen=True, slots=True)
class Extent:
    """Upper bounds of the bytes of a value's content and of the items of an array or map.

    `grows`: they may exceed the arguments, so they are checked. `exact`, if present, is more expensive SQL of the bytes
    of the content. It is used for values whose bound exceeds the limit.
    """

    content: Size
    items: Size = Size(1)
    grows: bool = False
    exact: str = ""
    guesses: int = 0
    """Number of nested bounds that may each be several times the true size."""

    @property
    def is_long(self) -> bool:
        return self.content.is_long or self.items.is_long or len(self.exact) > _LONGEST

    def checked(self, dtype: DataType) -> Extent:
        """Return the extent with the overhead of each item."""
        if not is_nested(dtype):
            return self
        return replace(self, content=self.content + self.items.times(Size(ITEM_BYTES)))


UNKNOWN = Extent(Size())
"""The extent of functions over items if theirs is unknown: the item itself is checked."""


@dataclass(frozen=True, slots=True)
class Sized:
    """SQL of a value with its extent, or None if the extent is unknown. `unchecked`: the SQL without its own check."""

    sql: str
    dtype: DataType
    extent: Extent | None = None
    unchecked: str = ""

    @property
    def content(self) -> Size:
        return self.extent.content if self.extent is not None else Size()

    @property
    def num_bytes(self) -> Size:
        """All bytes of the value, as an item of an array."""
        whole = Size(ITEM_BYTES) if self.extent is None else self.extent.checked(self.dtype).content
        return whole.over_null() + Size(ITEM_BYTES)

    @property
    def exact(self) -> str:
        return (self.extent.exact if self.extent is not None else "") or self.content.sql

    @property
    def has_exact(self) -> bool:
        return self.extent is not None and bool(self.extent.exact)

    @property
    def items(self) -> Size:
        return self.extent.items if self.extent is not None else Size()

    @property
    def count(self) -> Size:
        """The value of a number as a count: 0 if it is negative."""
        number = integer_value(self.sql)
        return Size(0, (f"greatest({self.sql}, 0)",)) if number is None else Size(max(number, 0))

    @property
    def is_repeatable(self) -> bool:
        """Whether its SQL may be repeated."""
        return len(self.sql) <= _LONGEST // 5 and not _VARYING.search(self.sql)


def has_extent(dtype: DataType) -> bool:
    """Return whether values of the type vary in size."""
    return is_string(dtype) or dtype == BINARY or is_nested(dtype)


def leaf_extent(sql: str, dtype: DataType) -> Extent:
    """Return the extent of an existing value: a column, a constant, a variable."""
    if is_string(dtype):
        text = string_value(sql)
        return Extent(Size(0, (f"strlen({sql})",)) if text is None else Size(len(text.encode(errors="replace"))))
    if dtype == BINARY:
        return Extent(Size(0, (f"octet_length({sql})",)))
    if isinstance(dtype, (ArrayType, MapType)):
        items = Size(0, (f"{'len' if isinstance(dtype, ArrayType) else 'cardinality'}({sql})",))
        return Extent(Size(), items)
    return Extent(Size() if is_nested(dtype) else Size(_NUMBER_BYTES))


def cast_extent(inner: Extent | None, source: DataType, target: DataType) -> Extent | None:
    """Return the extent of a value after a cast."""
    if not has_extent(target):
        return None
    return inner if has_extent(source) else Extent(Size(_NUMBER_BYTES))
