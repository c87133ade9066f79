"""Groups and aggregates of a kernel, made by the vector machine from the blocks of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import InternalError
from sharkpy.columnar.encoded_column import NarrowForm
from sharkpy.columnar.machine_steps import BATCH, FREE, OUTSIDE, Column, Step
from sharkpy.execution.tasks.kernel_steps import MachineProgram, PackedKey, machine_program
from sharkpy.physical.integer_columns import ARROW_TYPES, read_column
from sharkpy.physical.stage_program import BlockColumns, KernelColumns

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block

Numbers = np.ndarray[Any, np.dtype[Any]]
_MORSEL = 1 << 17
"""Rows that a thread takes at once: about a millisecond's work."""
_FEW_ROWS = 1 << 18
"""Rows up to which one thread is faster than several."""
_FIRST_KEYS = 1 << 14
_KINDS = {
    pa.uint8(): Column.U8,
    pa.uint16(): Column.U16,
    pa.uint32(): Column.U32,
    pa.int8(): Column.I8,
    pa.int16(): Column.I16,
    pa.int32(): Column.I32,
    pa.int64(): Column.I64,
    pa.bool_(): Column.BITS,
}
_LEAST = {Step.MIN: (1 << 63) - 1, Step.MAX: -(1 << 63)}
"""First total of aggregates that do not add."""


def kernel_rows(kernel: KernelColumns, blocks: Sequence[Block], threads: int) -> pa.Table:
    """Return the kernel's relation, from `blocks`."""
    columns = dict(zip(kernel.blocks.aliases, kernel.blocks.names, strict=True))
    used = {name for code in _codes(kernel) for name in code.columns()}
    nullable = frozenset(
        alias for alias in used if any(block.statistics[columns[alias]].null_count for block in blocks)
    )
    program = machine_program(kernel, nullable)
    work = _Work(program, kernel.blocks, blocks)
    num_rows = sum(block.num_rows for block in blocks)
    parts = [(place, start) for place, block in enumerate(blocks) for start in range(0, block.num_rows, _MORSEL)]
    if threads == 1 or num_rows <= _FEW_ROWS:
        for place, start in parts:
            check_cancelled()
            work.run(place, start)
    else:
        _in_parallel(work, parts, threads)
    return _table(program, work.merged())


def _in_parallel(work: _Work, parts: Sequence[tuple[int, int]], threads: int) -> None:
    with ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-kernel") as pool:
        running: list[Future[None]] = []
        try:
            for part in parts:
                check_cancelled()
                running.append(pool.submit(work.run, *part))
                if len(running) > 4 * threads:
                    running.pop(0).result()
            for one in running:
                one.result()
                check_cancelled()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _codes(kernel: KernelColumns) -> Iterator[Any]:
    yield from kernel.conditions
    yield from (key.code for key in kernel.keys)
    yield from (code for _, code in kernel.aggregates)


@dataclass(slots=True)
class _State:
    """Groups that one thread has found, and its working arrays."""

    registers: Numbers
    rows: Numbers
    alive: Numbers
    groups: Numbers
    slots: Numbers
    keys: Numbers
    num_keys: Numbers
    totals: Numbers

    @classmethod
    def of(cls, program: MachineProgram) -> _State:
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

    def grow(self, program: MachineProgram) -> None:
        """Double the places for keys."""
        from sharkpy.columnar.vector_machine import rehash

        num_keys, places = int(self.num_keys[0]), 2 * len(self.keys)
        totals = _first_totals(program, places + 1)
        totals[:num_keys] = self.totals[:num_keys]
        keys = np.empty(places, np.int64)
        keys[:num_keys] = self.keys[:num_keys]
        self.totals, self.keys, self.slots = totals, keys, np.empty(2 * places, np.int32)
        rehash(self.slots, keys, num_keys)

    def run(self, program: MachineProgram, columns: Numbers, start: int, stop: int) -> None:
        from sharkpy.columnar.vector_machine import run

        while True:
            start = run(
                *(program.steps, columns, _NO_TABLES, self.registers, self.rows, self.alive, self.groups),
                *(self.slots, self.keys, self.num_keys, self.totals, start, stop),
            )
            if start >= stop:
                return
            if start == OUTSIDE:
                raise InternalError("a key of a kernel is outside the bounds of its column")
            self.grow(program)


_NO_TABLES = np.zeros((1, 3), np.int64)


def _first_totals(program: MachineProgram, places: int) -> Numbers:
    totals = np.zeros((places, len(program.totals)), np.int64)
    for place, step in enumerate(program.totals):
        if step in _LEAST:
            totals[:, place] = _LEAST[step]
    return totals


class _Work:
    """Work of a kernel, which threads divide. Each works on a state of its own."""

    def __init__(self, program: MachineProgram, spec: BlockColumns, blocks: Sequence[Block]) -> None:
        self._program = program
        places = {alias: place for place, alias in enumerate(spec.aliases)}
        self._places = [places[alias] for alias in program.columns]
        self._spec = spec
        self._blocks = blocks
        self._columns: dict[int, tuple[Numbers, list[Any]]] = {}
        """Columns of the blocks that are being read, by place."""
        self._free: list[_State] = []
        self._states: list[_State] = []

    def run(self, place: int, start: int) -> None:
        block = self._blocks[place]
        # The arrays live as long as the machine reads them.
        columns, arrays = self._columns_of(place)
        try:
            state = self._free.pop()
        except IndexError:
            state = _State.of(self._program)
            self._states.append(state)
        state.run(self._program, columns, start, min(start + _MORSEL, block.num_rows))
        del arrays
        self._free.append(state)
        if start + _MORSEL >= block.num_rows:
            self._columns.pop(place, None)

    def _columns_of(self, place: int) -> tuple[Numbers, list[Any]]:
        """Return the machine's rows for the columns of a block, and the arrays to which they refer."""
        known = self._columns.get(place)
        if known is None:
            arrays = [_stored(self._blocks[place], self._spec, one) for one in self._places]
            columns = np.array([_column(*one) for one in arrays], np.int64).reshape(len(arrays), 6)
            known = self._columns[place] = columns, arrays
        return known

    def merged(self) -> tuple[Numbers, Numbers]:
        """Return the packed keys and totals of the groups that have rows; of one group if there are no keys."""
        program = self._program
        states = self._states or [_State.of(program)]
        if program.num_groups is None:
            return _merged_keys(program, states)
        totals = states[0].totals
        for state in states[1:]:
            totals = _added(program, totals, state.totals)
        if not program.keys:
            return np.zeros(1, np.int64), totals
        parts = totals[:-1].reshape(program.num_groups, program.lanes, -1)
        totals = parts[:, 0]
        for lane in range(1, program.lanes):
            totals = _added(program, totals, parts[:, lane])
        (keys,) = np.nonzero(totals[:, 0])
        return keys, totals[keys]


def _added(program: MachineProgram, one: Numbers, other: Numbers) -> Numbers:
    totals = one + other
    for place, step in enumerate(program.totals):
        if step in _MERGE:
            totals[:, place] = _MERGE[step](one[:, place], other[:, place])
    return totals


_MERGE: dict[Step, Any] = {Step.MIN: np.minimum, Step.MAX: np.maximum}


def _merged_keys(program: MachineProgram, states: Sequence[_State]) -> tuple[Numbers, Numbers]:
    first, *others = sorted(states, key=lambda one: -int(one.num_keys[0]))
    for other in others:
        _merge_keys(program, first, other)
    num_keys = int(first.num_keys[0])
    return first.keys[:num_keys], first.totals[:num_keys]


def _merge_keys(program: MachineProgram, state: _State, other: _State) -> None:
    from sharkpy.columnar.vector_machine import find

    num_others = int(other.num_keys[0])
    while int(state.num_keys[0]) + num_others > len(state.keys):
        state.grow(program)
    keys, places = other.keys[:num_others], np.empty(num_others, np.int32)
    state.num_keys[0] = find(
        keys, num_others, np.ones(num_others, np.uint8), state.slots, state.keys, state.num_keys[0], places
    )
    # Each key of a state is there once.
    state.totals[places] = _added(program, state.totals[places], other.totals[:num_others])


def _stored(block: Block, spec: BlockColumns, place: int) -> tuple[Any, int, int]:
    """Return a column's array, base and factor."""
    name, form = spec.names[place], spec.forms[place] if spec.forms else ""
    known = spec.values[place] if spec.values else ()
    if form and not known and block.encoding(name) == "narrow":
        # Other encodings are decoded, and cached.
        stored = block.scan_form(name)
        if isinstance(stored, NarrowForm):
            return stored.array, stored.base, stored.factor
    return read_column(block, name, form, known), 0, 1


def _column(array: Any, base: int, factor: int) -> tuple[int, int, int, int, int, int]:
    """Return a column's row for the machine."""
    valid, values = array.buffers()[:2]
    kind = _KINDS[array.type]
    bitmap = valid.address if valid is not None and array.null_count else 0
    if kind is Column.BITS:
        return kind, values.address, array.offset, 1, bitmap, array.offset
    address = values.address + array.offset * (array.type.bit_width // 8) if values is not None else 0
    return kind, address, base, factor, bitmap, array.offset


def _table(program: MachineProgram, found: tuple[Numbers, Numbers]) -> pa.Table:
    keys, totals = found
    columns = {key.key.alias: _key(key, keys) for key in program.keys}
    for result in program.results:
        values = np.ascontiguousarray(totals[:, result.place])
        missing = None if result.num_values is None else totals[:, result.num_values] == 0
        columns[result.alias] = pa.array(values, mask=missing)
    return pa.table(columns)


def _key(packed: PackedKey, keys: Numbers) -> Any:
    values = keys // packed.stride % packed.size + packed.key.low
    target = ARROW_TYPES[packed.key.integer_type]
    missing = None if packed.null is None else values == packed.null
    if missing is not None:
        values[missing] = packed.key.low
    return pa.array(values.astype(target.to_pandas_dtype()), target, mask=missing)
