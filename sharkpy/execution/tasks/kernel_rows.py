"""Groups and aggregates of a kernel, made by the vector machine from the blocks of a task."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.errors import InternalError
from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.block_cache import column_cache
from sharkpy.columnar.machine_steps import Step
from sharkpy.execution.tasks.inputs import BlockRows, TaskData, TaskMetrics, count_places
from sharkpy.execution.tasks.kernel_steps import MachineProgram, PackedKey, machine_program
from sharkpy.execution.tasks.lookup_tables import LookupTable
from sharkpy.execution.tasks.machine_work import BlockWork, Numbers, State, nullable_columns, run_morsels
from sharkpy.execution.tasks.rebuilt_reads import rebuilding
from sharkpy.execution.tasks.report import SCAN, OperatorFigures
from sharkpy.physical.integer_columns import ARROW_TYPES, read_column
from sharkpy.physical.stage_program import BlockColumns, GroupKey, KernelColumns
from sharkpy.values.types import to_arrow

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block


def open_kernel(
    spec: KernelColumns,
    data: TaskData,
    metrics: TaskMetrics,
    rows: Sequence[BlockRows] | None,
    tables: Sequence[LookupTable],
) -> pa.Table:
    """Return the kernel's relation in this task, and count and measure it."""
    from sharkpy.columnar.store import open_block

    handles_of, counts = dict(data.part.blocks), dict[str, int]()
    for blocks in spec.all_blocks:
        read = handles_of.get(blocks.relation, ())
        counts[blocks.relation] = sum(handle.num_rows for handle in read)
        count_places(read, metrics)
    metrics.rows_in += sum(counts.values())
    handles = handles_of.get(spec.relation, ())
    started = time.perf_counter()
    table = rebuilding(
        lambda: kernel_rows(spec, list(map(open_block, handles)), data.threads, rows, tables), handles, data
    )
    if metrics.is_profiled:
        seconds = time.perf_counter() - started
        metrics.operators += [
            *(OperatorFigures(SCAN, frozenset((name,)), 0, num_rows, 0, 0.0) for name, num_rows in counts.items()),
            OperatorFigures("aggregate", frozenset(counts), 0, table.num_rows, table.nbytes, seconds),
        ]
    return table


def kernel_rows(
    kernel: KernelColumns,
    blocks: Sequence[Block],
    threads: int,
    rows: Sequence[Any] | None = None,
    tables: Sequence[LookupTable] = (),
) -> pa.Table:
    """Return the kernel's relation, from `blocks`, or from the needed `rows` of each, and the `tables` of its lookups.

    The conditions of the filter of its blocks are true for the needed rows.
    """
    known = kernel.blocks.filter.conditions if kernel.blocks.filter else ()
    if rows and known and all(needed is not None for needed in rows):
        kernel = replace(kernel, conditions=tuple(one for one in kernel.conditions if one not in known))
    if len(tables) != len(kernel.lookups):
        raise InternalError("a lookup of a kernel has no table")
    nullable = nullable_columns(kernel.blocks, set(kernel.blocks.aliases) & kernel.columns, blocks)
    nullable = nullable.union(*(table.nullable for table in tables))
    if not any(key.is_coded for key in kernel.keys):
        return _rows_of(kernel, blocks, threads, rows, machine_program(kernel, nullable), {}, tables)
    parts = []
    for place, block in enumerate(blocks):
        coded = {key.alias: _codes_of(block, kernel, key) for key in kernel.keys if key.is_coded}
        sizes = tuple(max(len(coded[key.alias].dictionary), 1) if key.is_coded else 0 for key in kernel.keys)
        program = machine_program(kernel, nullable, sizes)
        parts.append(_rows_of(kernel, [block], threads, rows and rows[place : place + 1], program, coded, tables))
    if not parts:
        none = {key.alias: _no_codes(kernel, key) for key in kernel.keys if key.is_coded}
        return _rows_of(kernel, (), 1, (), machine_program(kernel, nullable), none, tables)
    return _as_one(parts)


def _rows_of(
    kernel: KernelColumns,
    blocks: Sequence[Block],
    threads: int,
    rows: Sequence[Any] | None,
    program: MachineProgram,
    coded: Mapping[str, pa.DictionaryArray[Any, Any]],
    tables: Sequence[LookupTable],
) -> pa.Table:
    indices = {key.code.name: coded[key.alias].indices for key in kernel.keys if key.alias in coded}
    work = _Work(program, kernel.blocks, blocks, rows, indices, tables)
    run_morsels(work.run_morsel, work.sizes, threads)
    return _table(program, work.merged(), {alias: codes.dictionary for alias, codes in coded.items()})


def _codes_of(block: Block, kernel: KernelColumns, key: GroupKey) -> Any:
    """Return a block's column as codes of its values. They are cached for later queries."""
    spec, place = kernel.blocks, kernel.blocks.aliases.index(key.code.name)
    name, form = spec.names[place], spec.forms[place] if spec.forms else ""

    def encoded() -> Any:
        array = read_column(block, name, form, ())
        return array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()

    return column_cache().get(block, ("codes", name, form), encoded)


def _no_codes(kernel: KernelColumns, key: GroupKey) -> Any:
    spec, place = kernel.blocks, kernel.blocks.aliases.index(key.code.name)
    form = spec.forms[place] if spec.forms else ""
    dtype = ARROW_TYPES[form] if form else to_arrow(spec.schema.fields[place].dtype)
    return pa.array([], pa.dictionary(pa.int32(), dtype))  # type: ignore[call-overload]


def _as_one(parts: Sequence[pa.Table]) -> pa.Table:
    """Return all rows. Blocks may have strings in different forms."""
    schema = parts[0].schema
    return pa.concat_tables([part if part.schema == schema else part.cast(schema) for part in parts])


class _Work(BlockWork):
    """Work of a kernel. Each thread has a state of its own."""

    def __init__(
        self,
        program: MachineProgram,
        spec: BlockColumns,
        blocks: Sequence[Block],
        rows: Sequence[Any] | None,
        codes: Mapping[str, Any],
        tables: Sequence[LookupTable],
    ) -> None:
        columns = {alias: column for table in tables for alias, column in table.columns.items()}
        super().__init__(program, spec, blocks, [table.keys for table in tables], rows, codes, columns)
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


def _add_reals(one: Numbers, other: Numbers) -> Numbers:
    return (one.view(np.float64) + other.view(np.float64)).view(np.int64)


_MERGE: dict[Step, Any] = {Step.MIN: np.minimum, Step.MAX: np.maximum, Step.SUM_REAL: _add_reals}


def _merged_keys(program: MachineProgram, states: Sequence[State]) -> tuple[Numbers, Numbers]:
    first, *others = sorted(states, key=lambda one: -int(one.num_keys[0]))
    for other in others:
        _merge_keys(program, first, other)
    num_keys = int(first.num_keys[0])
    return first.keys[:num_keys], first.totals[:num_keys]


def _merge_keys(program: MachineProgram, state: State, other: State) -> None:
    from sharkpy.columnar.machine import find

    num_others = int(other.num_keys[0])
    if (least := int(state.num_keys[0]) + num_others) > len(state.keys):
        state.grow(program, least)
    keys, places = other.keys[:num_others], np.empty(num_others, np.int32)
    state.num_keys[0] = find(
        keys, num_others, np.ones(num_others, np.uint8), state.slots, state.keys, state.num_keys[0], places
    )
    # Each key of a state is there once.
    state.totals[places] = _added(program, state.totals[places], other.totals[:num_others])


def _table(program: MachineProgram, found: tuple[Numbers, Numbers], dictionaries: Mapping[str, Any]) -> pa.Table:
    keys, totals = found
    columns = {packed.key.alias: _key(packed, keys, dictionaries.get(packed.key.alias)) for packed in program.keys}
    for result in program.results:
        values = np.ascontiguousarray(totals[:, result.place])
        if result.is_real:
            values = values.view(np.float64)
        missing = None if result.num_values is None else totals[:, result.num_values] == 0
        if result.offset and result.num_values is not None:
            values = values + result.offset * totals[:, result.num_values]
        columns[result.alias] = arrow_buffers.part(values, missing)
    return pa.table(columns)


def _key(packed: PackedKey, keys: Numbers, dictionary: Any) -> Any:
    # NumPy divides by one number several times faster than it finds a remainder.
    parts = keys // packed.stride if packed.stride > 1 else keys
    values = parts - parts // packed.size * packed.size + packed.key.low
    missing = None if packed.null is None else values == packed.null
    if missing is not None:
        values[missing] = packed.key.low
    if packed.key.is_coded:
        return dictionary.take(arrow_buffers.part(values, missing))
    target = ARROW_TYPES[packed.key.integer_type]
    return arrow_buffers.part(values.astype(target.to_pandas_dtype()), missing)
