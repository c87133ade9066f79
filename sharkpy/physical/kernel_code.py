"""Code: calculations on the integer forms of columns, which the vector machine carries out instead of DuckDB.

Lowering makes it together with the SQL of the same value, by the same rules. Every result fits 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.records import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """Calculation: `op` of `args`.

    1. `column` (a relation's column by `name`), `codes` (numbers of its values, in each block), `real` (a column of
       DOUBLE, only as an argument of an aggregate), `constant` (`number`), `null`.
    2. `add`, `subtract`, `multiply`.
    3. `equal`, `not_equal`, `less`, `less_equal`: 1, 0, or NULL. `and`, `or`, `not` on them. `is_null` is 1 or 0.
    4. `choose`: its second argument if the first is 1, else its third.
    5. Of a group: `sum`, `sum_real`, `count` (of rows, or of an argument that is not NULL), `min`, `max`, `distinct`
       (the number of different `codes`).
    """

    op: str
    args: tuple[Code, ...] = ()
    name: str = ""
    number: int = 0

    def columns(self) -> Iterator[str]:
        """Yield the names of the columns, in order, also repeated ones."""
        if self.op in STORED:
            yield self.name
        for arg in self.args:
            yield from arg.columns()


STORED = ("column", "codes", "real")
NULL_CODE = Code("null")
LOWEST = -(1 << 63)
"""The number that stands for NULL: no value may be equal to it."""


def column_code(name: str) -> Code:
    return Code("column", name=name)


def codes_code(name: str) -> Code:
    return Code("codes", name=name)


def real_code(name: str) -> Code:
    return Code("real", name=name)


def constant_code(number: int) -> Code:
    return Code("constant", number=number)


def code_of(op: str, *args: Code | None) -> Code | None:
    """Return the calculation, or None if an argument has none."""
    known = tuple(arg for arg in args if arg is not None)
    return Code(op, known) if len(known) == len(args) else None
