"""Rows of blocks that a query needs: its scans' predicates and its joins' keys are applied before DuckDB reads them.

1. Relations come in order of the rows that they are expected to leave, the fewest first. Each is filtered by its own
   predicate, and by the keys of the relations before it to which it is joined (predicate transfer, CIDR 2024).
2. The vector machine computes the rows. DuckDB computes predicates for which there is no code.
3. A block never changes, so its rows for a predicate and for the keys of other blocks are cached (predicate caching,
   SIGMOD 2024).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.block_cache import column_cache
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.tasks.kernel_steps import first_program, selection_program
from sharkpy.execution.tasks.machine_work import (
    MORSEL,
    BlockWork,
    KeySet,
    Numbers,
    State,
    nullable_columns,
    run_morsels,
    stored_column,
)
from sharkpy.physical.stage_program import (
    BlockColumns,
    FirstRows,
    KernelColumns,
    KeyEdge,
    RowFilter,
    StageProgram,
    TaskInput,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.columnar.block import Block

    Rows = pa.Array[Any]

_ALL = pa.nulls(0)
"""Rows of a block of which most are needed."""
_MOST_KEPT = 0.5
"""Share of rows above which removing the others costs more than it saves."""
_SAMPLED_EACH, _LEAST_SAMPLE = 128, 500
"""DuckDB tests one row of so many first, if these are enough, since a predicate may leave most rows."""
_MOST_SPAN = 1 << 27
"""Largest distance of the least and the greatest key of a set: 16 MB of bits."""
_FILTERED = 4
"""Factor by which a predicate is expected to reduce a relation."""
_PLACE = "shark_place"
_NO_FILTER = RowFilter((), (), "")
Reduced = Mapping[str, Sequence["Rows | None"]]
"""For each block of some relations, the needed rows in order; None means all."""


def reduced_inputs(program: StageProgram, part: TaskInput, connection: DuckDBPyConnection, threads: int) -> Reduced:
    """Return the rows that `program` needs of its relations of blocks, if it saves time to leave out the rest."""
    blocks = dict(part.blocks)
    joined = {name for edge in program.edges for name in (edge.relation, edge.source)}
    relations = []
    for spec in program.inputs:
        if not isinstance(spec, (BlockColumns, KernelColumns)):
            continue
        is_kernel = isinstance(spec, KernelColumns)
        for columns in spec.all_blocks if isinstance(spec, KernelColumns) else (spec,):
            handles = blocks.get(columns.relation)
            is_restricted = columns.filter or columns.first or columns.relation in joined
            if columns.reduced_above is not None and handles and is_restricted:
                is_exact = _is_exact(columns, is_kernel=is_kernel)
                relations.append(_Relation(columns, handles, threads, is_exact=is_exact))
    return _reduced(relations, program.edges, connection)


def _is_exact(spec: BlockColumns, *, is_kernel: bool) -> bool:
    """Whether exactly the filter decides: nothing applies it later, or the first rows are chosen after it.

    A kernel has no code for its texts.
    """
    has_texts = spec.filter is not None and bool(spec.filter.texts)
    return bool(spec.passed) or spec.first is not None or (is_kernel and has_texts)


def _reduced(relations: list[_Relation], edges: Sequence[KeyEdge], connection: DuckDBPyConnection) -> Reduced:
    waiting, done = {one.name: one for one in relations}, dict[str, _Relation]()
    while True:
        known = {name: _known_edges(name, edges, done) for name in waiting}
        # A relation that nothing reduces yet has all its keys, which reduce nothing.
        able = [one for name, one in waiting.items() if one.is_filtered or known[name]]
        if not able:
            break
        relation = min(able, key=lambda one: one.expected_rows(known[one.name]))
        del waiting[relation.name]
        restricts = any(edge.source == relation.name and edge.relation in waiting for edge in edges)
        if relation.num_rows > relation.reduced_above or relation.is_exact or restricts:
            relation.reduce(known[relation.name], connection)
        done[relation.name] = relation
    return {name: relation.rows for name, relation in done.items() if relation.is_exact or relation.is_reduced}


def _known_edges(name: str, edges: Sequence[KeyEdge], done: Mapping[str, _Relation]) -> list[_KnownEdge]:
    """Return the edges to a relation from reduced ones, the most selective first."""
    found = [(edge, done[edge.source]) for edge in edges if edge.relation == name and edge.source in done]
    return sorted((one for one in found if one[1].is_reduced), key=lambda one: one[1].share)


class _Relation:
    """Relation of blocks; `rows` are the needed rows of each block, or None for all.

    If it `is_exact`, no row is among them for which its predicate is not true.
    """

    def __init__(self, spec: BlockColumns, handles: Sequence[BlockHandle], threads: int, *, is_exact: bool) -> None:
        self.name = spec.relation
        self.num_rows = sum(handle.num_rows for handle in handles)
        self.rows: list[Rows | None] = [None] * len(handles)
        self.reduced_above = spec.reduced_above or 0
        self.is_exact = is_exact
        self.is_filtered = spec.filter is not None or spec.first is not None
        self._spec = spec
        self._filter = spec.filter or _NO_FILTER
        self._handles = handles
        self._threads = threads
        self._columns = dict(zip(spec.aliases, spec.names, strict=True))
        self._key = ""
        self._sets: dict[str, KeySet | None] = {}

    def expected_rows(self, edges: Sequence[_KnownEdge]) -> float:
        """Return an estimate of the rows that the predicate and the keys of `edges` leave."""
        share = min((source.share for _, source in edges), default=1.0)
        return share * self.num_rows / (_FILTERED if self.is_filtered else 1)

    @property
    def share(self) -> float:
        """Share of rows that are needed."""
        pairs = zip(self.rows, self._handles, strict=True)
        needed = sum(handle.num_rows if rows is None else len(rows) for rows, handle in pairs)
        return needed / max(self.num_rows, 1)

    @property
    def is_reduced(self) -> bool:
        return self.share <= _MOST_KEPT

    def reduce(self, edges: Sequence[_KnownEdge], connection: DuckDBPyConnection) -> None:
        """Find the needed rows by the relation's predicate and the keys of other relations."""
        from sharkpy.columnar.store import open_block

        keys = (f"{self._columns[edge.alias]} {source.fingerprint(edge.source_alias)}" for edge, source in edges)
        self._key = "\n".join((self._filter.key, *keys))
        blocks = [open_block(handle) for handle in self._handles]
        if self._key:
            self.rows = self._cached_rows(blocks, edges, connection)
        if self._spec.first is not None:
            self.rows = _first_rows(self._spec, self._spec.first, blocks, self.rows, self._threads)

    def _cached_rows(
        self, blocks: Sequence[Block], edges: Sequence[_KnownEdge], connection: DuckDBPyConnection
    ) -> list[Rows | None]:
        """Return the needed rows of each block, computed for blocks without cached ones."""
        cache = column_cache()
        key = ("exact rows" if self.is_exact else "rows", self._key)
        found = [cache.find(block, key) for block in blocks]
        missing = [block for block, rows in zip(blocks, found, strict=True) if rows is None]
        if missing:
            made = iter(self._needed_rows(missing, edges, connection))
            for place, block in enumerate(blocks):
                if found[place] is None:
                    rows = next(made)
                    most = block.num_rows - 1 if self.is_exact else _MOST_KEPT * block.num_rows
                    found[place] = cache.put(block, key, rows if len(rows) <= most else _ALL)
        return [None if rows is None or rows.type == pa.null() else rows for rows in found]

    def fingerprint(self, alias: str) -> str:
        """Return a text that is equal for equal keys in column `alias` of the needed rows."""
        digest = hashlib.blake2b(self._key.encode(), digest_size=16)
        for handle in self._handles:
            digest.update(handle.block_id.encode())
        return f"{self._columns[alias]} {digest.hexdigest()}"

    def key_set(self, alias: str) -> KeySet | None:
        """Return the keys in column `alias` of the needed rows, or None if they are too far apart."""
        if alias not in self._sets:
            self._sets[alias] = key_set(self._stored(alias))
        return self._sets[alias]

    def _stored(self, alias: str) -> list[tuple[Numbers, int, int]]:
        """Return the values of a column in the needed rows of each block, with base and factor."""
        from sharkpy.columnar.store import open_block

        place, parts = self._spec.aliases.index(alias), []
        for handle, rows in zip(self._handles, self.rows, strict=True):
            array, base, factor = stored_column(open_block(handle), self._spec, place, rows)
            parts.append((arrow_buffers.numpy(array.drop_null()), base, factor))
        return parts

    def _needed_rows(
        self, blocks: Sequence[Block], edges: Sequence[_KnownEdge], connection: DuckDBPyConnection
    ) -> list[Rows]:
        sets = [(edge.alias, known) for edge, source in edges if (known := source.key_set(edge.source_alias))]
        if self._filter.conditions or sets:
            rows = selected_rows(self._spec, blocks, self._filter.conditions, sets, self._threads)
        else:
            rows = [arrow_buffers.part(np.arange(block.num_rows, dtype=np.uint32)) for block in blocks]
        if not self._filter.texts:
            return rows
        if self.is_exact:
            return _matching_rows(self._spec, blocks, rows, self._filter.texts, connection)
        sample = [one.take(arrow_buffers.part(np.arange(0, len(one), _SAMPLED_EACH))) for one in rows]
        for tried in (sample, rows) if sum(map(len, sample)) > _LEAST_SAMPLE else (rows,):
            found = _matching_rows(self._spec, blocks, tried, self._filter.texts, connection)
            if sum(map(len, found)) > _MOST_KEPT * sum(map(len, tried)):
                return rows
        return found


_KnownEdge = tuple[KeyEdge, _Relation]


def selected_rows(
    spec: BlockColumns,
    blocks: Sequence[Block],
    conditions: tuple[Any, ...],
    sets: Sequence[tuple[str, KeySet]],
    threads: int,
) -> list[Rows]:
    """Return the rows of each block for which all `conditions` are true and columns, by alias, are in their sets."""
    chosen = [place for place, block in enumerate(blocks) if _may_match(spec, block, sets)]
    members = tuple(alias for alias, _ in sets)
    used = {*members, *(name for code in conditions for name in code.columns())}
    program = selection_program(tuple(conditions), members, nullable_columns(spec, used, blocks))
    work = BlockWork(program, spec, [blocks[place] for place in chosen], [known for _, known in sets])
    found: list[Rows] = [arrow_buffers.part(np.empty(0, np.uint32))] * len(blocks)
    for place, rows in zip(chosen, _emitted_rows(work, threads), strict=True):
        found[place] = rows
    return found


def _emitted_rows(work: BlockWork, threads: int, totals: Callable[[], Numbers] | None = None) -> list[Rows]:
    """Return the rows of each block that the program emits. A thread's totals are what `totals` returns there."""
    found: list[dict[int, Numbers]] = [{} for _ in work.sizes]

    def run(place: int, start: int) -> None:
        state = State.of(work.program)
        state.keys = np.empty(MORSEL + 1, np.int64)
        if totals is not None:
            state.totals = totals()
        work.run(state, place, start)
        found[place][start] = state.keys[: int(state.num_keys[0])].astype(np.uint32)

    run_morsels(run, work.sizes, threads)
    none = np.empty(0, np.uint32)
    return [arrow_buffers.part(np.concatenate([none, *(parts[start] for start in sorted(parts))])) for parts in found]


def _may_match(spec: BlockColumns, block: Block, sets: Sequence[tuple[str, KeySet]]) -> bool:
    """Whether a block may have a key of each set, by its statistics."""
    for alias, known in sets:
        statistics = block.statistics[spec.names[spec.aliases.index(alias)]]
        if not isinstance(statistics.low, int) or not isinstance(statistics.high, int):
            return statistics.low is not None
        low, high = max(statistics.low, known.low) - known.low, min(statistics.high, known.high) - known.low
        if low > high or not known.bits[low // 8 : high // 8 + 1].any():
            return False
    return True


def _matching_rows(
    spec: BlockColumns,
    blocks: Sequence[Block],
    rows: Sequence[Rows],
    texts: Sequence[str],
    connection: DuckDBPyConnection,
) -> list[Rows]:
    """Return the subset of each block's `rows` for which DuckDB finds all `texts` true."""
    from sharkpy.execution.tasks.inputs import registered_inputs
    from sharkpy.physical.integer_columns import read_block, read_rows

    condition = " AND ".join(texts)
    places = [place for place, alias in enumerate(spec.aliases) if f'"{alias}"' in condition]
    used = _of_places(spec, places)
    groups: dict[pa.Schema, list[pa.Table]] = {}
    starts = np.cumsum([0, *map(len, rows)])
    for block, wanted, start in zip(blocks, rows, starts[:-1], strict=True):
        is_whole = len(wanted) == block.num_rows
        table = read_block(block, used) if is_whole else read_rows(block, used, wanted)
        numbers = arrow_buffers.part(np.arange(start, start + len(wanted), dtype=np.int64))
        table = table.append_column(_PLACE, numbers).replace_schema_metadata(None)
        groups.setdefault(table.schema, []).append(table)
    relation: Any = [pa.concat_tables(tables) for tables in groups.values()]
    with registered_inputs(connection, {spec.relation: relation}) as reading:
        sql = reading(f"SELECT {_PLACE} FROM {spec.relation} WHERE {condition}")
        found = np.sort(connection.execute(sql).fetchnumpy()[_PLACE])
    ends = np.searchsorted(found, starts)
    chosen = (found[ends[place] : ends[place + 1]] - starts[place] for place in range(len(rows)))
    return [wanted.take(arrow_buffers.part(places)) for wanted, places in zip(rows, chosen, strict=True)]


def _first_rows(
    spec: BlockColumns, first: FirstRows, blocks: Sequence[Block], rows: Sequence[Rows | None], threads: int
) -> list[Rows | None]:
    """Return the subset of each block's `rows` that may be among the first ones of their groups.

    Each thread has a heap of each group's least numbers. Rows that get into one are tested again by all threads' heaps.
    """
    nullable = nullable_columns(spec, first.columns, blocks)
    program = first_program(first, nullable, is_open=True)
    assert program.num_groups is not None
    size = program.num_groups + bool(program.keys), first.count
    heaps = defaultdict[int, Numbers](lambda: np.full(size, np.iinfo(np.int64).max))
    work = BlockWork(program, spec, blocks, rows=rows)
    kept = _within(rows, _emitted_rows(work, threads, lambda: heaps[get_ident()]))
    merged, *others = heaps.values() or [heaps[0]]
    for other in others:
        merged = np.partition(np.hstack([merged, other]), first.count - 1)[:, : first.count]
    bounds = np.ascontiguousarray(merged.max(axis=1, keepdims=True))
    work = BlockWork(first_program(first, nullable, is_open=False), spec, blocks, rows=kept)
    return _within(kept, _emitted_rows(work, threads, lambda: bounds))


def _within(rows: Sequence[Rows | None], places: Sequence[Rows]) -> list[Rows | None]:
    """Return the items of each block's `rows` at the `places`."""
    return [part if known is None else known.take(part) for known, part in zip(rows, places, strict=True)]


def _of_places(spec: BlockColumns, places: Sequence[int]) -> BlockColumns:
    def chosen(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[place] for place in places) if values else ()

    return BlockColumns(
        spec.relation,
        chosen(spec.names),
        chosen(spec.aliases),
        forms=chosen(spec.forms),
        values=chosen(spec.values),
    )


def key_set(parts: Sequence[tuple[Numbers, int, int]]) -> KeySet | None:
    from sharkpy.columnar.machine import set_bits

    ends = [
        base + factor * int(end)
        for numbers, base, factor in parts
        if len(numbers)
        for end in (numbers.min(), numbers.max())
    ]
    if not ends:
        return KeySet(np.zeros(1, np.uint8), 0, -1)
    low, high = min(ends), max(ends)
    if high - low >= _MOST_SPAN:
        return None
    bits = np.zeros((high - low) // 8 + 1, np.uint8)
    for numbers, base, factor in parts:
        set_bits(base + factor * numbers.astype(np.int64), low, bits)
    return KeySet(bits, low, high)
