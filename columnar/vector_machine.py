"""Vector machine: runs a program of simple steps over encoded columns, a batch of rows at a time.

A program is a table of numbers (`machine_steps.py`), so the machine is compiled once, and never during a query. Each
step is a loop over a batch that fits the processor's cache (MonetDB/X100, CIDR 2005). Arguments are in bounds: callers
check them.

This module imports numba, which takes longer than many queries. It is imported only to compile the machine, whose
callers use `machine.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from sharkpy.columnar import machine_steps
from sharkpy.columnar.compiled import machine_code
from sharkpy.columnar.machine_steps import Column, Step

Array = np.ndarray[Any, np.dtype[Any]]
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Knuth's constant: products with it differ in their upper bits."""
_SHIFT = np.uint64(24)
# numba takes plain numbers from the module.
BATCH, NULL, FREE, OUTSIDE = machine_steps.BATCH, machine_steps.NULL, machine_steps.FREE, machine_steps.OUTSIDE
NO_ITEM = machine_steps.NO_ITEM
_U8, _U16, _U32 = Column.U8.value, Column.U16.value, Column.U32.value
_I8, _I16, _I32, _I64 = Column.I8.value, Column.I16.value, Column.I32.value, Column.I64.value
_REAL = Column.REAL.value
_LOAD, _MEMBER, _EMIT, _LOOKUP = Step.LOAD.value, Step.MEMBER.value, Step.EMIT.value, Step.LOOKUP.value
_ADD, _SUBTRACT, _MULTIPLY = Step.ADD.value, Step.SUBTRACT.value, Step.MULTIPLY.value
_EQUAL, _NOT_EQUAL, _LESS, _LESS_EQUAL = (
    Step.EQUAL.value,
    Step.NOT_EQUAL.value,
    Step.LESS.value,
    Step.LESS_EQUAL.value,
)
_AND, _OR, _NOT, _IS_NULL, _CHOOSE = (
    Step.AND.value,
    Step.OR.value,
    Step.NOT.value,
    Step.IS_NULL.value,
    Step.CHOOSE.value,
)
_FILTER, _PACK, _START, _NULLS = Step.FILTER.value, Step.PACK.value, Step.START.value, Step.NULLS.value
_GROUP, _FIND = Step.GROUP.value, Step.FIND.value
_ORDERED, _FIRST = Step.ORDERED.value, Step.FIRST.value
_NAN, _MANTISSAS = 0x7FF << 52, (1 << 63) - 1
"""Bits of the numbers above which there is only NaN; bits without the sign."""
_SUM, _SUM_REAL, _COUNT, _COUNT_VALID, _MIN, _MAX = (
    Step.SUM.value,
    Step.SUM_REAL.value,
    Step.COUNT.value,
    Step.COUNT_VALID.value,
    Step.MIN.value,
    Step.MAX.value,
)


def _as_pointer(_: Any, address: Any) -> Any:
    """Return an address as a pointer."""

    def generate(_: Any, builder: Any, __: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


_pointer: Any = intrinsic(_as_pointer)


@machine_code
def _load(source: Array, start: int, rows: Array, n: int, is_dense: bool, base: int, factor: int, out: Array) -> None:
    """out = base + factor * source, for the rows from `start` on, or for those at `rows` after it."""
    if is_dense:
        part = source[start : start + n]
        for i in range(n):
            out[i] = base + factor * np.int64(part[i])
    else:
        for i in range(n):
            out[i] = base + factor * np.int64(source[start + rows[i]])


@machine_code
def _load_real(source: Array, start: int, rows: Array, n: int, is_dense: bool, out: Array) -> None:
    for i in range(n):
        bits = source[start + (i if is_dense else np.int64(rows[i]))]
        out[i] = bits if bits != NULL else 0


@machine_code
def _load_bits(bits: Array, start: int, rows: Array, n: int, is_dense: bool, out: Array) -> None:
    for i in range(n):
        place = start + (i if is_dense else np.int64(rows[i]))
        out[i] = (bits[place >> 3] >> (place & 7)) & 1


@machine_code
def _set_nulls(bits: Array, start: int, rows: Array, n: int, is_dense: bool, out: Array) -> None:
    for i in range(n):
        place = start + (i if is_dense else np.int64(rows[i]))
        if (bits[place >> 3] >> (place & 7)) & 1 == 0:
            out[i] = NULL


@machine_code
def _column(column: Array, start: int, stop: int, rows: Array, n: int, is_dense: bool, out: Array) -> None:
    """out = the values of a column: kind, address, base, factor, address of the bitmap of valid values, its offset."""
    kind, at, base, factor = column[0], _pointer(column[1]), column[2], column[3]
    if kind == _U8:
        _load(carray(at, (stop,), np.uint8), start, rows, n, is_dense, base, factor, out)
    elif kind == _U16:
        _load(carray(at, (stop,), np.uint16), start, rows, n, is_dense, base, factor, out)
    elif kind == _U32:
        _load(carray(at, (stop,), np.uint32), start, rows, n, is_dense, base, factor, out)
    elif kind == _I8:
        _load(carray(at, (stop,), np.int8), start, rows, n, is_dense, base, factor, out)
    elif kind == _I16:
        _load(carray(at, (stop,), np.int16), start, rows, n, is_dense, base, factor, out)
    elif kind == _I32:
        _load(carray(at, (stop,), np.int32), start, rows, n, is_dense, base, factor, out)
    elif kind == _REAL:
        _load_real(carray(at, (stop,), np.int64), start, rows, n, is_dense, out)
    elif kind == _I64:
        _load(carray(at, (stop,), np.int64), start, rows, n, is_dense, base, factor, out)
    else:
        _load_bits(carray(at, ((base + stop + 7) >> 3,), np.uint8), base + start, rows, n, is_dense, out)
    if column[4] != 0:
        bits = carray(_pointer(column[4]), ((column[5] + stop + 7) >> 3,), np.uint8)
        _set_nulls(bits, column[5] + start, rows, n, is_dense, out)


@machine_code
def _look_up(column: Array, x: Array, low: int, high: int, n: int, out: Array) -> None:
    """out = item x - low of a table; its last item, after that of `high`, is missing."""
    size = high - low + 1
    if column[0] == _I32:
        narrow = carray(_pointer(column[1]), (size + 1,), np.int32)
        for i in range(n):
            item = np.int64(narrow[x[i] - low if (x[i] >= low) & (x[i] <= high) else size])
            out[i] = NULL if item == NO_ITEM else item
    else:
        wide = carray(_pointer(column[1]), (size + 1,), np.int64)
        for i in range(n):
            out[i] = wide[x[i] - low if (x[i] >= low) & (x[i] <= high) else size]


@machine_code
def _calculate(code: int, x: Array, y: Array, n: int, out: Array) -> None:  # noqa: C901, PLR0912 - one loop a step
    """out = x op y, NULL if one is."""
    if code == _ADD:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else x[i] + y[i]
    elif code == _SUBTRACT:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else x[i] - y[i]
    elif code == _MULTIPLY:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else x[i] * y[i]
    elif code == _EQUAL:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else np.int64(x[i] == y[i])
    elif code == _NOT_EQUAL:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else np.int64(x[i] != y[i])
    elif code == _LESS:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else np.int64(x[i] < y[i])
    elif code == _LESS_EQUAL:
        for i in range(n):
            out[i] = NULL if (x[i] == NULL) | (y[i] == NULL) else np.int64(x[i] <= y[i])
    elif code == _AND:
        for i in range(n):
            is_false = (x[i] == 0) | (y[i] == 0)
            out[i] = 0 if is_false else (NULL if (x[i] == NULL) | (y[i] == NULL) else 1)
    else:
        for i in range(n):
            is_true = (x[i] == 1) | (y[i] == 1)
            out[i] = 1 if is_true else (NULL if (x[i] == NULL) | (y[i] == NULL) else 0)


@machine_code
def _mark(x: Array, low: int, high: int, n: int, alive: Array) -> Any:
    """Leave the rows with low <= x <= high alive. Return their number. NULL is below every `low`."""
    num_alive: Any = 0
    for i in range(n):
        alive[i] &= (x[i] >= low) & (x[i] <= high)
        num_alive += np.int64(alive[i])
    return num_alive


@machine_code
def _mark_members(x: Array, bits: Array, low: int, high: int, n: int, alive: Array) -> Any:
    """Leave the rows alive whose x is in the set: bit x - low is set. NULL is below every `low`."""
    num_alive: Any = 0
    for i in range(n):
        place = x[i] - low if (x[i] >= low) & (x[i] <= high) else 0
        is_member = (bits[place >> 3] >> (place & 7)) & (x[i] >= low) & (x[i] <= high)
        alive[i] &= is_member & 1
        num_alive += np.int64(alive[i])
    return num_alive


@machine_code
def _compress(n: int, num_alive: int, alive: Array, rows: Array, is_dense: bool) -> None:
    """Move the rows that are alive to the front."""
    m: Any = 0
    for i in range(n):
        # The next row overwrites a row that is left out, so `rows` has one more place.
        rows[m] = i if is_dense else rows[i]
        m += np.int64(alive[i])
    alive[:num_alive] = 1


@machine_code
def _place(key: int, mask: int) -> Any:
    return np.int64((np.uint64(key) * _MULTIPLIER) >> _SHIFT) & mask


@machine_code
def find(x: Array, n: int, alive: Array, slots: Array, keys: Array, num_keys: int, groups: Array) -> int:
    """groups = the number of each key. New keys get the next numbers, for which there is room. Return how many are
    known then.
    """
    mask = len(slots) - 1
    for i in range(n):
        if alive[i] == 0:
            groups[i] = len(keys)
            continue
        key = x[i]
        place = _place(key, mask)
        while slots[place] != FREE and keys[slots[place]] != key:
            place = (place + 1) & mask
        if slots[place] == FREE:
            slots[place] = num_keys
            keys[num_keys] = key
            num_keys += 1
        groups[i] = slots[place]
    return num_keys


@machine_code
def rehash(slots: Array, keys: Array, num_keys: int) -> None:
    """Fill `slots`, a power of two of places, with the numbers of the keys."""
    slots[:] = FREE
    mask = len(slots) - 1
    for number in range(num_keys):
        place = _place(keys[number], mask)
        while slots[place] != FREE:
            place = (place + 1) & mask
        slots[place] = number


@machine_code
def set_bits(values: Array, low: int, bits: Array) -> None:
    """Set bit value - low for each of the `values`, int64."""
    for i in range(len(values)):
        place = values[i] - low
        bits[place >> 3] |= np.uint8(1) << np.uint8(place & 7)


@machine_code
def _aggregate_all(code: int, x: Array, n: int, alive: Array, total: Any) -> Any:
    """Return the aggregate of one group of all rows."""
    if code == _SUM:
        for i in range(n):
            total += x[i] if (alive[i] != 0) & (x[i] != NULL) else 0
    elif code == _SUM_REAL:
        real: Any = np.int64(total).view(np.float64)
        for i in range(n):
            real += np.int64(x[i] if (alive[i] != 0) & (x[i] != NULL) else 0).view(np.float64)
        total = np.float64(real).view(np.int64)
    elif code == _COUNT_VALID:
        for i in range(n):
            total += np.int64((alive[i] != 0) & (x[i] != NULL))
    elif code == _MIN:
        for i in range(n):
            total = min(total, x[i] if (alive[i] != 0) & (x[i] != NULL) else total)
    else:
        for i in range(n):
            total = max(total, x[i] if alive[i] != 0 else total)
    return total


@machine_code
def _aggregate(code: int, x: Array, n: int, groups: Array, totals: Array) -> None:
    if code == _SUM:
        for i in range(n):
            totals[groups[i]] += 0 if x[i] == NULL else x[i]
    elif code == _SUM_REAL:
        for i in range(n):
            real = np.int64(x[i] if x[i] != NULL else 0).view(np.float64)
            totals[groups[i]] = np.float64(np.int64(totals[groups[i]]).view(np.float64) + real).view(np.int64)
    elif code == _COUNT_VALID:
        for i in range(n):
            totals[groups[i]] += np.int64(x[i] != NULL)
    elif code == _MIN:
        for i in range(n):
            if x[i] != NULL:
                totals[groups[i]] = min(totals[groups[i]], x[i])
    else:
        for i in range(n):
            totals[groups[i]] = max(totals[groups[i]], x[i])


@machine_code
def _order(x: Array, n: int, out: Array) -> None:
    for i in range(n):
        size = x[i] & _MANTISSAS
        if (x[i] == NULL) | (x[i] >= 0):
            out[i] = min(x[i], _NAN + 1)
        else:
            out[i] = _NAN + 1 if size > _NAN else ~size


@machine_code
def _replace_greatest(heap: Array, value: int) -> None:
    """Put `value`, which is smaller, in place of the greatest number: the first one of the heap."""
    place, below = 0, 1
    while below < len(heap):
        if below + 1 < len(heap) and heap[below + 1] > heap[below]:
            below += 1
        if heap[below] <= value:
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = value


@machine_code
def run(  # noqa: C901, PLR0912, PLR0915 - a call for each step would pass all arrays
    steps: Array,
    columns: Array,
    sets: Array,
    registers: Array,
    rows: Array,
    alive: Array,
    groups: Array,
    slots: Array,
    keys: Array,
    num_keys: Array,
    totals: Array,
    start: int,
    stop: int,
) -> int:
    """Run the steps over the rows from `start` to `stop`. Return `stop`, or the row at which the table of keys is full,
    or OUTSIDE if a row has a group that there is not.

    `registers` is (number, BATCH). `rows` and `groups` are int32 and `alive` uint8 of BATCH + 1. `totals` is
    (groups + 1, aggregates): its last row is for rows that are not left. Without groups it has one row. `keys` has a
    place for each group, and `slots` at least twice as many. With EMIT or FIRST, `keys` has a place for each row and
    one more. A set is the address of its bits, its least and its greatest possible member.

    Filters mark rows. Only if few are left, these move together, and later steps skip the others.
    """
    at = start
    while at < stop:
        n = min(BATCH, stop - at)
        num_alive = n
        alive[:n] = 1
        is_dense = True
        for k in range(len(steps)):
            code, d, a, b, c = steps[k, 0], steps[k, 1], steps[k, 2], steps[k, 3], steps[k, 4]
            if code == _LOAD:
                _column(columns[a], at, stop, rows, n, is_dense, registers[d])
            elif code in (_FILTER, _MEMBER):
                if code == _FILTER:
                    num_alive = _mark(registers[d], a, b, n, alive)
                else:
                    low, high = sets[a, 1], sets[a, 2]
                    bits = carray(_pointer(sets[a, 0]), ((high - low) // 8 + 1,), np.uint8)
                    num_alive = _mark_members(registers[d], bits, low, high, n, alive)
                if 2 * num_alive < n:
                    _compress(n, num_alive, alive, rows, is_dense)
                    n, is_dense = num_alive, False
                if n == 0:
                    break
            elif code == _LOOKUP:
                _look_up(columns[b], registers[a], sets[c, 1], sets[c, 2], n, registers[d])
            elif code == _EMIT:
                m = num_keys[0]
                for i in range(n):
                    # The next row overwrites a row that is left out, so `keys` has one more place.
                    keys[m] = at + (i if is_dense else np.int64(rows[i]))
                    m += np.int64(alive[i])
                num_keys[0] = m
            elif code <= _OR:
                _calculate(code, registers[a], registers[b], n, registers[d])
            elif code == _NOT:
                out, x = registers[d], registers[a]
                for i in range(n):
                    out[i] = NULL if x[i] == NULL else 1 - x[i]
            elif code == _IS_NULL:
                out, x = registers[d], registers[a]
                for i in range(n):
                    out[i] = np.int64(x[i] == NULL)
            elif code == _CHOOSE:
                out, condition, x, y = registers[d], registers[a], registers[b], registers[c]
                for i in range(n):
                    out[i] = x[i] if condition[i] == 1 else y[i]
            elif code == _START:
                registers[d][:n] = 0
            elif code == _NULLS:
                out, x = registers[d], registers[a]
                for i in range(n):
                    out[i] = b if x[i] == NULL else x[i]
            elif code == _PACK:
                out, x = registers[d], registers[a]
                for i in range(n):
                    out[i] += (x[i] - b) * c
            elif code == _GROUP:
                x = registers[d]
                nowhere = len(totals) - 1
                is_outside = False
                for i in range(n):
                    place = x[i] * a + (i & (a - 1)) if alive[i] != 0 else nowhere
                    is_outside |= (place < 0) | (place > nowhere)
                    groups[i] = place
                if is_outside:
                    return OUTSIDE
            elif code == _FIND:
                if num_keys[0] + n > len(keys):
                    return at
                num_keys[0] = find(registers[d], n, alive, slots, keys, num_keys[0], groups)
            elif code == _ORDERED:
                _order(registers[a], n, registers[d])
            elif code == _FIRST:
                x = registers[d]
                m = num_keys[0]
                for i in range(n):
                    if (alive[i] != 0) & (x[i] <= totals[groups[i], 0]):
                        keys[m] = at + (i if is_dense else np.int64(rows[i]))
                        m += 1
                        if (a != 0) & (x[i] < totals[groups[i], 0]):
                            _replace_greatest(totals[groups[i]], x[i])
                num_keys[0] = m
            elif code == _COUNT:
                if len(totals) == 1:
                    totals[0, d] += num_alive
                else:
                    for i in range(n):
                        totals[groups[i], d] += 1
            elif len(totals) == 1:
                totals[0, d] = _aggregate_all(code, registers[a], n, alive, totals[0, d])
            else:
                _aggregate(code, registers[a], n, groups, totals[:, d])
        at += BATCH
    return stop
