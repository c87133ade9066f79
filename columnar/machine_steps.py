"""Steps of the vector machine, as the numbers of its programs.

A program is an array of int64 with `WIDTH` numbers for each step: its code, then operands. An operand is a register, or
what the step says. Registers hold a value for each row of a batch; `NULL` is a missing value.
"""

from __future__ import annotations

from enum import IntEnum

BATCH = 1024
"""Rows of a batch. Twenty registers are 160 kB."""
NULL = -(1 << 63)
NO_ITEM = -(1 << 31)
"""A missing item of a table of 32 bits. In other tables it is `NULL`."""
FREE = -1
"""Empty place of the table of keys."""
OUTSIDE = -1
"""Result of a run in which a row has a group that there is not."""
WIDTH = 5


class Step(IntEnum):
    """Codes. `d` is the register that a step writes; `x`, `y` and `c` are registers that it reads."""

    LOAD = 0
    """d, column: the column's values of the rows that are left."""
    MEMBER = 1
    """x, set: leave the rows whose x is in the set. No register has a value after it."""
    ADD = 2
    """d, x, y. The caller knows that no result overflows; so it is for SUBTRACT and MULTIPLY."""
    SUBTRACT = 3
    MULTIPLY = 4
    EQUAL = 5
    """d, x, y: 1, 0, or NULL. So it is for the other comparisons."""
    NOT_EQUAL = 6
    LESS = 7
    LESS_EQUAL = 8
    AND = 9
    """d, x, y, of truth values, in three-valued logic. So it is for OR and NOT."""
    OR = 10
    NOT = 11
    IS_NULL = 12
    CHOOSE = 13
    """d, c, x, y: x if c is 1, else y."""
    FILTER = 14
    """x, low, high (numbers): leave the rows with low <= x <= high. No register has a value after it."""
    PACK = 15
    """d, x, low, stride (numbers): add (x - low) * stride to d. NULL is one above the other values: see NULLS."""
    START = 16
    """d: 0 in all rows."""
    NULLS = 17
    """d, x, size (number): x, or `size` for NULL."""
    GROUP = 18
    """x, lanes (number): group x of each row, in `lanes` copies, a power of two, which rows take in turns."""
    FIND = 19
    """x: the number of each key x, in the table of keys."""
    SUM = 20
    """aggregate (number), x: add x to the aggregate of the row's group, unless it is NULL."""
    COUNT = 21
    """aggregate (number)."""
    COUNT_VALID = 22
    """aggregate (number), x."""
    MIN = 23
    MAX = 24
    EMIT = 25
    """Add the numbers of the rows that are left to the keys."""
    SUM_REAL = 26
    """aggregate (number), x: as SUM, of numbers of 64 bits with a point, as their bits."""
    ORDERED = 27
    """d, x: integers in the order of numbers with a point, given as their bits. NaN is the greatest."""
    FIRST = 28
    """x, is_open (number): add the numbers of the rows to the keys that may be first: whose x is not above the greatest
    number of their group's heap. If `is_open`, a smaller x takes its place there. The totals are the heaps.
    """
    LOOKUP = 29
    """d, x, column, set: item x - low of the column's table, or NULL if x is outside the range of the set."""


class Column(IntEnum):
    """Kinds of stored columns."""

    U8 = 0
    U16 = 1
    U32 = 2
    I8 = 3
    I16 = 4
    I32 = 5
    I64 = 6
    BITS = 7
    """Arrow's bitmap."""
    REAL = 8
    """DOUBLE, as its bits. -0.0 becomes 0.0, since its bits stand for NULL."""
