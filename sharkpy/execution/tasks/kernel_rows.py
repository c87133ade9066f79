"""Groups and aggregates of a kernel, made by the vector machine from the blocks of a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar.machine_steps import Step
from sharkpy.execution.tasks.kernel_steps import MachineProgram, PackedKey, machine_program
from sharkpy.execution.tasks.machine_work import BlockWork, Numbers, State, nullable_columns, run_morsels
from sharkpy.physical.integer_columns import ARROW_TYPES
from sharkpy.physical.stage_program import BlockColumns, KernelColumns

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block


def kernel_rows(
    kernel: KernelColumns, blocks: Sequence[Block], threads: int, rows: Sequence[Any] | None = None
) -> pa.Table:
    """Return the kernel's relation, from `blocks`, or from the needed `rows` of each."""
    used = {name for code in _codes(kernel) for name in code.columns()}
    program = machine_program(kernel, nullable_columns(kernel.blocks, used, blocks))
    work = _Work(program, kernel.blocks, blocks, rows=rows)
    run_morsels(work.run_morsel, work.sizes, threads)
    return _table(program, work.merged())


def _codes(kernel: KernelColumns) -> Iterator[Any]:
    yield from kernel.conditions
    yield from (key.code for key in kernel.keys)
    yield from (code for _, code in kernel.aggregates)


class _Work(BlockWork):
    """Work of a kernel. Each thread has a state of its own."""

    def __init__(
        self, program: MachineProgram, spec: BlockColumns, blocks: Sequence[Block], rows: Sequence[Any] | None
    ) -> None:
        super().__init__(program, spec, blocks, rows=rows)
        self._free: list[State] = []
        self._states: list[State] = []

    def run_morsel(self, place: int, start: int) -> None:
        try:
            state = self._free.pop()
        except IndexError:
            state = State.of(self.program)
            self._states.append(state)
        self.run(state, place, start)
        self._free.append(state)

    def merged(self) -> tuple[Numbers, Numbers]:
        """Return the packed keys and totals of the groups that have rows; of one group if there are no keys."""
        program = self.program
        states = self._states or [State.of(program)]
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


def _merged_keys(program: MachineProgram, states: Sequence[State]) -> tuple[Numbers, Numbers]:
    first, *others = sorted(states, key=lambda one: -int(one.num_keys[0]))
    for other in others:
        _merge_keys(program, first, other)
    num_keys = int(first.num_keys[0])
    return first.keys[:num_keys], first.totals[:num_keys]


def _merge_keys(program: MachineProgram, state: State, other: State) -> None:
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
