"""Work of the vector machine over the blocks of a task: their columns as it reads them, its states, and threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.base.records import dataclass
from sharkpy.columnar.machine_steps import BATCH, FREE, OUTSIDE, Column, Step
from sharkpy.execution.tasks.kernel_steps import MachineProgram
from sharkpy.physical.integer_columns import cached_rows, narrow_form, read_column
from sharkpy.physical.stage_program import BlockColumns

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block

Numbers = np.ndarray[Any, np.dtype[Any]]
MORSEL = 1 << 17
"""Rows that a thread takes at once: about a millisecond's work."""
_FEW_ROWS = 1 << 18
"""Rows up to which one thread is faster than several."""
_FIRST_KEYS, _MANY_KEYS = 1 << 14, 1 << 18
_KINDS = {
    pa.uint8(): Column.U8,
    pa.uint16(): Column.U16,
    pa.uint32(): Column.U32,
    pa.int8(): Column.I8,
    pa.int16(): Column.I16,
    pa.int32(): Column.I32,
    pa.date32(): Column.I32,
    pa.int64(): Column.I64,
    pa.timestamp("us"): Column.I64,
    pa.float64(): Column.REAL,
    pa.bool_(): Column.BITS,
}
_LEAST = {Step.MIN: (1 << 63) - 1, Step.MAX: -(1 << 63)}
"""First total of aggregates that do not add."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """Integers `low` + i whose bit i, least significant first, is set in `bits`. None is greater than `high`."""

    bits: Numbers
    low: int
    high: int


class BlockWork:
    """Program over blocks, or the needed `rows` of each, which threads divide.

    MEMBER and LOOKUP steps use the `sets`. A column in `tables` is the table of a lookup.
    """

    def __init__(
        self,
        program: MachineProgram,
        spec: BlockColumns,
        blocks: Sequence[Block],
        sets: Sequence[KeySet] = (),
        rows: Sequence[Any] | None = None,
        codes: Mapping[str, Any] | None = None,
        tables: Mapping[str, Numbers] | None = None,
    ) -> None:
        self.program = program
        places = {alias: place for place, alias in enumerate(spec.aliases)}
        self._tables = [(tables or {}).get(column.name) for column in program.columns]
        self._places = [(places.get(column.name, -1), column.op == "codes") for column in program.columns]
        self._codes = {places[alias]: array for alias, array in (codes or {}).items()}
        """Codes of the values of the only block, by place."""
        self._spec = spec
        self._blocks = blocks
        self._rows = rows or (None,) * len(blocks)
        self.sizes = [
            block.num_rows if needed is None else len(needed) for block, needed in zip(blocks, self._rows, strict=True)
        ]
        self._columns: dict[int, tuple[Numbers, list[Any]]] = {}
        """Columns of the blocks that are being read, by place."""
        self._sets = sets
        """Held, since the machine has the addresses of their bits."""
        set_rows = [(one.bits.ctypes.data, one.low, one.high) for one in sets]
        self._set_rows = np.array(set_rows, np.int64).reshape(len(set_rows), 3)

    def run(self, state: State, place: int, start: int) -> None:
        """Run the program over a morsel: rows of block `place` from `start` on."""
        num_rows = self.sizes[place]
        # The arrays live as long as the machine reads them.
        columns, arrays = self._columns_of(place)
        state.run(self.program, columns, self._set_rows, start, min(start + MORSEL, num_rows))
        del arrays
        if start + MORSEL >= num_rows:
            self._columns.pop(place, None)

    def _columns_of(self, place: int) -> tuple[Numbers, list[Any]]:
        """Return the machine's rows for the columns of a block, and the arrays to which they refer."""
        known = self._columns.get(place)
        if known is None:
            arrays = [
                self._column(place, *one) if table is None else table
                for one, table in zip(self._places, self._tables, strict=True)
            ]
            rows = [_column(*one) if isinstance(one, tuple) else _table(one) for one in arrays]
            columns = np.array(rows, np.int64).reshape(len(arrays), 6)
            known = self._columns[place] = columns, arrays
        return known

    def _column(self, place: int, column: int, is_coded: bool) -> tuple[Any, int, int]:
        rows = self._rows[place]
        if not is_coded:
            return stored_column(self._blocks[place], self._spec, column, rows)
        codes = self._codes[column]
        return codes if rows is None else codes.take(rows), 0, 1


def run_morsels(run: Callable[[int, int], None], sizes: Sequence[int], threads: int) -> None:
    """Call `run` with the place of a block and a first row, for each morsel. `sizes` are the blocks' rows.

    This thread runs morsels, and up to `threads` - 1 of the process's helpers do, if no other kernel has them.
    """
    parts = [(place, start) for place, num_rows in enumerate(sizes) for start in range(0, num_rows, MORSEL)]
    left = iter(parts)
    """Morsels that no thread has taken. The iterator of a list gives each to one thread."""

    def work(check: Callable[[], None] = lambda: None) -> None:
        try:
            for part in left:
                check()
                run(*part)
        finally:
            # After a failure, the other threads end too.
            deque(left, 0)

    num_helpers = 0 if sum(sizes) <= _FEW_ROWS else min(threads, len(parts)) - 1
    helpers = [_helpers(os.getpid()).submit(work) for _ in range(num_helpers)]
    try:
        work(check_cancelled)
    finally:
        begun = [one for one in helpers if not one.cancel()]
        wait(begun)
    for one in begun:
        one.result()
    check_cancelled()


@cache
def _helpers(process: int) -> Executor:  # noqa: ARG001 - a forked process has threads of its own
    """Return the threads that help all kernels of the process, so that many kernels at once have few threads."""
    return ThreadPoolExecutor(max((os.cpu_count() or 1) - 1, 1), thread_name_prefix="sharkpy-kernel")


def nullable_columns(spec: BlockColumns, used: Iterable[str], blocks: Sequence[Block]) -> frozenset[str]:
    """Return the subset of the `used` columns, by alias, that have NULLs."""
    columns = dict(zip(spec.aliases, spec.names, strict=True))
    return frozenset(alias for alias in used if any(block.statistics[columns[alias]].null_count for block in blocks))


@dataclass(slots=True)
class State:
    """Keys and totals that one thread has found, and its working arrays."""

    registers: Numbers
    rows: Numbers
    alive: Numbers
    groups: Numbers
    slots: Numbers
    keys: Numbers
    num_keys: Numbers
    totals: Numbers

    @classmethod
    def of(cls, program: MachineProgram) -> State:
        registers = np.empty((program.num_registers, BATCH), np.int64)
        for register, number in program.constants:
            registers[register] = number
        places = _FIRST_KEYS if program.num_groups is None else program.num_groups * program.lanes
        num_slots = 2 * places if program.num_groups is None else 1
        return cls(
            registers,
            np.empty(BATCH + 1, np.int32),
            np.empty(BATCH + 1, np.uint8),
            np.zeros(BATCH + 1, np.int32),
            np.full(num_slots, FREE, np.int32),
            np.empty(places if program.num_groups is None else 0, np.int64),
            np.zeros(1, np.int64),
            _first_totals(program, places + bool(program.keys)),
        )

    def grow(self, program: MachineProgram, least: int = 0) -> None:
        """Multiply the places for keys, until there are `least`."""
        from sharkpy.columnar.machine import rehash

        num_keys, places = int(self.num_keys[0]), len(self.keys)
        while places == len(self.keys) or places < least:
            places *= 4 if places < _MANY_KEYS else 2
        totals = _first_totals(program, places + 1)
        totals[:num_keys] = self.totals[:num_keys]
        keys = np.empty(places, np.int64)
        keys[:num_keys] = self.keys[:num_keys]
        self.totals, self.keys, self.slots = totals, keys, np.empty(2 * places, np.int32)
        rehash(self.slots, keys, num_keys)

    def run(self, program: MachineProgram, columns: Numbers, sets: Numbers, start: int, stop: int) -> None:
        from sharkpy.columnar.machine import run

        while True:
            start = run(
                *(program.steps, columns, sets, self.registers, self.rows, self.alive, self.groups),
                *(self.slots, self.keys, self.num_keys, self.totals, start, stop),
            )
            if start >= stop:
                return
            if start == OUTSIDE:
                raise InternalError("a key of a kernel is outside the bounds of its column")
            self.grow(program)


def _first_totals(program: MachineProgram, places: int) -> Numbers:
    totals = np.zeros((places, len(program.totals)), np.int64)
    for place, step in enumerate(program.totals):
        if step in _LEAST:
            totals[:, place] = _LEAST[step]
    return totals


def stored_column(block: Block, spec: BlockColumns, place: int, rows: Any = None) -> tuple[Any, int, int]:
    """Return a column's array, base and factor, for the rows at the positions `rows` if given."""
    array, base, factor = _whole_column(block, spec, place)
    if rows is None:
        return array, base, factor
    form = spec.forms[place] if spec.forms else ""
    # Without a form or with known values, the array has decoded values.
    key = ("stored", spec.names[place], form, spec.values[place] if spec.values else ())
    return cached_rows(block, key, rows, lambda: array.take(rows)), base, factor


def _whole_column(block: Block, spec: BlockColumns, place: int) -> tuple[Any, int, int]:
    name, form = spec.names[place], spec.forms[place] if spec.forms else ""
    known = spec.values[place] if spec.values else ()
    stored = narrow_form(block, name) if form and not known else None
    if stored is not None:
        return stored.array, stored.base, stored.factor
    return read_column(block, name, form, known), 0, 1


def _table(items: Numbers) -> tuple[int, int, int, int, int, int]:
    return Column.I32 if items.dtype == np.int32 else Column.I64, items.ctypes.data, 0, 1, 0, 0


def _column(array: Any, base: int, factor: int) -> tuple[int, int, int, int, int, int]:
    """Return a column's row for the machine."""
    valid, values = array.buffers()[:2]
    kind = _KINDS[array.type]
    bitmap = valid.address if valid is not None and array.null_count else 0
    if kind is Column.BITS:
        return kind, values.address, array.offset, 1, bitmap, array.offset
    address = values.address + array.offset * (array.type.bit_width // 8) if values is not None else 0
    return kind, address, base, factor, bitmap, array.offset
