"""Tables of a kernel's lookups: for each key, the values of the row that has it, as arrays indexed by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.machine_steps import NO_ITEM, NULL
from sharkpy.execution.tasks.machine_work import KeySet, Numbers, nullable_columns, stored_column
from sharkpy.execution.tasks.reduced_inputs import Reduced, key_set, selected_rows
from sharkpy.physical.stage_program import KernelColumns, Lookup, StageProgram, TaskInput

if TYPE_CHECKING:
    from sharkpy.columnar.block import Block

_SMALL, _SPARSE = 1 << 18, 4
"""Items up to which a table costs little, and their number for each row above which a hash table is faster."""
_MOST_ITEMS = 1 << 25
"""Items of all tables of a task: 256 MB at most."""
BlockRows = Sequence[Any]
"""Needed rows of each block; None: all of it."""


@dataclass(frozen=True, slots=True)
class LookupTable:
    """Table of a lookup. Item key - `keys.low` of a column, by alias, is the value of the row with the key.

    One more item is missing, as those are whose keys have no row. Columns in `nullable` may be NULL for a row of the
    kernel.
    """

    keys: KeySet
    columns: Mapping[str, Numbers]
    nullable: frozenset[str]


def lookup_tables(
    program: StageProgram, part: TaskInput, reduced: Reduced, threads: int
) -> dict[str, list[LookupTable]] | None:
    """Return the tables of the lookups of each kernel, by relation, from all rows of blocks or the `reduced` ones.

    Return None if there is no table for a lookup.
    """
    from sharkpy.columnar.store import open_block

    blocks_of = dict(part.blocks)

    def num_rows(relation: str) -> int:
        handles = blocks_of.get(relation, ())
        needed = reduced.get(relation) or [None] * len(handles)
        return sum(one.num_rows if rows is None else len(rows) for one, rows in zip(handles, needed, strict=True))

    kernels = [spec for spec in program.inputs if isinstance(spec, KernelColumns) and spec.lookups]
    found: dict[str, list[LookupTable]] = {}
    left = _MOST_ITEMS
    for kernel in kernels:
        found[kernel.relation] = []
        for lookup in kernel.lookups:
            relation = lookup.blocks.relation
            blocks = [open_block(handle) for handle in blocks_of.get(relation, ())]
            most = max(_SMALL, _SPARSE * (num_rows(kernel.relation) + num_rows(relation)))
            num_columns = max(len(kernel.columns.intersection(lookup.blocks.aliases)), 1)
            most = min(most, left // num_columns)
            table = lookup_table(lookup, blocks, reduced.get(relation), kernel.columns, threads, most)
            if table is None:
                return None
            left -= sum(map(len, table.columns.values()))
            found[kernel.relation].append(table)
    return found


def lookup_table(
    lookup: Lookup,
    blocks: Sequence[Block],
    rows: BlockRows | None,
    read: Iterable[str],
    threads: int,
    most_items: int = 1 << 27,
) -> LookupTable | None:
    """Return the table with the columns in `read`, from all rows of the blocks or from the needed `rows`.

    Return None if a key occurs in several rows, or if the table would have more than `most_items`.
    """
    chosen = _chosen_rows(lookup, blocks, rows, threads)
    places = dict(zip(lookup.blocks.aliases, range(len(lookup.blocks.aliases)), strict=True))

    def stored(alias: str) -> list[tuple[Any, int, int]]:
        return [
            stored_column(block, lookup.blocks, places[alias], needed)
            for block, needed in zip(blocks, chosen, strict=True)
        ]

    keys = [(arrow_buffers.numpy(array.drop_null()), base, factor) for array, base, factor in stored(lookup.alias)]
    found = key_set(keys)
    if (
        found is None
        or found.high - found.low >= most_items
        or int(np.bitwise_count(found.bits).sum()) < sum(len(numbers) for numbers, _, _ in keys)
    ):
        return None
    wanted = places.keys() & set(read)
    nullable = wanted if lookup.keeps_all else nullable_columns(lookup.blocks, wanted, blocks)
    key_parts = stored(lookup.alias)
    columns = {alias: _column(found, key_parts, stored(alias)) for alias in wanted}
    return LookupTable(found, columns, frozenset(nullable))


def _chosen_rows(lookup: Lookup, blocks: Sequence[Block], rows: BlockRows | None, threads: int) -> BlockRows:
    """Return the rows of each block that count; None means all of a block."""
    spec = lookup.blocks
    known = spec.filter.conditions if spec.filter and rows and all(one is not None for one in rows) else ()
    conditions = tuple(one for one in lookup.conditions if one not in known)
    rows = rows or [None] * len(blocks)
    if not conditions:
        return rows
    found = selected_rows(spec, blocks, conditions, (), threads)
    return [
        matching if needed is None else arrow_buffers.part(np.intersect1d(matching, needed, assume_unique=True))
        for matching, needed in zip(found, rows, strict=True)
    ]


def _column(keys: KeySet, key_parts: Sequence[tuple[Any, int, int]], parts: Sequence[tuple[Any, int, int]]) -> Numbers:
    places, values = [], []
    for (key_array, key_base, key_factor), (array, base, factor) in zip(key_parts, parts, strict=True):
        numbers, is_missing = _numbers(array, base, factor)
        key_numbers, has_no_key = _numbers(key_array, key_base, key_factor)
        is_item = ~(is_missing | has_no_key)
        places.append(key_numbers[is_item] - keys.low)
        values.append(numbers[is_item])
    items = np.concatenate([np.empty(0, np.int64), *values])
    is_narrow = not len(items) or (items.min() > NO_ITEM and items.max() < -NO_ITEM)
    table = np.full(keys.high - keys.low + 2, NO_ITEM if is_narrow else NULL, np.int32 if is_narrow else np.int64)
    table[np.concatenate([np.empty(0, np.int64), *places])] = items
    return table


def _numbers(array: Any, base: int, factor: int) -> tuple[Numbers, Any]:
    """Return the values of a column as the machine reads them, and which of them are NULL."""
    is_missing = arrow_buffers.missing_rows(array)
    if pa.types.is_floating(array.type):
        # -0.0 becomes 0.0, since its bits stand for NULL.
        return (arrow_buffers.numpy(array) + 0.0).view(np.int64), is_missing
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    return base + factor * arrow_buffers.numpy(array).astype(np.int64), is_missing
