"""Statistics of all blocks of a table version as NumPy arrays by column, for vectorised pruning and totals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sharkpy.base.records import dataclass
from sharkpy.columnar import value_sets
from sharkpy.columnar.bounds import Bounds, ByteBounds, Mask, NumberBounds, concat_bounds, is_whole, word_arrays
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics, PackedStatistics, column_statistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of, from_domain
from sharkpy.columnar.value_sets import DistinctSets, distinct_sets, registers_of_values, sets_by_block
from sharkpy.values import types as t

__all__ = [
    "BlockStatistics",
    "ColumnStatistics",
    "ColumnTable",
    "PackedStatistics",
    "StatisticsAnswer",
    "StatisticsTable",
    "column_statistics",
]

Array = np.ndarray[Any, np.dtype[Any]]
_DISJOINT = 0.9


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """A value known exactly from statistics. None is NULL."""

    value: object


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """The statistics of one column over all blocks."""

    dtype: t.DataType
    null_counts: Array
    valid_counts: Array
    has_nan: Mask
    exact: Mask
    bounds: Bounds | None
    whole_bounds: tuple[tuple[bytes, bytes], ...] | None
    sets: DistinctSets
    num_distinct: Array
    size_bytes: Array
    sketched: Mask
    """Blocks whose sketches are merged in `registers`."""
    registers: Array | None
    """Merged sketches, also of blocks that were left out since. These only raise estimates, and one sketch per block
    would take memory.
    """


class BlockFigures(Protocol):
    """The statistics of a block's columns, in memory or as stored in its file."""

    @property
    def num_rows(self) -> int: ...

    def __getitem__(self, name: str) -> ColumnStatistics: ...


class _Columns(Mapping[str, ColumnTable]):
    """The columns of some blocks. Each is gathered when it is first read.

    A column that was gathered for the first blocks is extended by the blocks added since.
    """

    def __init__(
        self,
        types: Mapping[str, t.DataType],
        blocks: tuple[BlockFigures, ...],
        gathered: Mapping[str, tuple[ColumnTable, int]],
    ) -> None:
        self.types = types
        self.blocks = blocks
        self.gathered = dict(gathered)
        """Gathered columns, with the number of blocks that each covers."""

    def __getitem__(self, name: str) -> ColumnTable:
        known, count = self.gathered.get(name, (None, 0))
        if known is not None and count == len(self.blocks):
            return known
        others = column_table(self.types[name], [block[name] for block in self.blocks[count:]])
        found = others if known is None else concat_columns([known, others])
        self.gathered[name] = found, len(self.blocks)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.types

    def __iter__(self) -> Iterator[str]:
        return iter(self.types)

    def __len__(self) -> int:
        return len(self.types)


class _Taken(Mapping[str, ColumnTable]):
    """The columns of some blocks of a table."""

    def __init__(self, columns: Mapping[str, ColumnTable], positions: Array) -> None:
        self._columns = columns
        self._positions = positions

    def __getitem__(self, name: str) -> ColumnTable:
        return take_blocks(self._columns[name], self._positions)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class StatisticsTable:
    """Statistics over the blocks of a table version, in the version's order. Immutable.

    The cost of a table, or of one derived from it, depends only on the columns that have been read so far.
    """

    def __init__(self, rows: Array, columns: Mapping[str, ColumnTable]) -> None:
        self.rows = rows
        self.columns = columns
        self._num_distinct: dict[str, int] = {}
        self._extremes: dict[tuple[str, bool], StatisticsAnswer | None] = {}

    @classmethod
    def of(cls, schema: t.Schema, blocks: Sequence[BlockFigures]) -> StatisticsTable:
        """Gather the blocks' statistics. Every block must have every column of `schema`."""
        return cls(_rows(blocks), _Columns({field.name: field.dtype for field in schema}, tuple(blocks), {}))

    @classmethod
    def concat(cls, tables: Sequence[StatisticsTable]) -> StatisticsTable:
        """Concatenate the blocks of several tables with the same columns."""
        parts = [table.columns for table in tables]
        rows = np.concatenate([table.rows for table in tables])
        known = [part for part in parts if isinstance(part, _Columns)]
        if len(known) < len(parts):
            return cls(rows, {name: concat_columns([part[name] for part in parts]) for name in parts[0]})
        blocks = tuple(block for part in known for block in part.blocks)
        common = set(known[0].gathered).intersection(*(part.gathered for part in known))
        gathered = {name: (concat_columns([part[name] for part in known]), len(blocks)) for name in common}
        return cls(rows, _Columns(known[0].types, blocks, gathered))

    def append(self, blocks: Sequence[BlockFigures]) -> StatisticsTable:
        """Return a table with more blocks after these. A column is extended when it is read."""
        known = self.columns
        assert isinstance(known, _Columns)
        columns = _Columns(known.types, (*known.blocks, *blocks), known.gathered)
        return StatisticsTable(np.concatenate([self.rows, _rows(blocks)]), columns)

    def take(self, positions: Array) -> StatisticsTable:
        """Return a table of the blocks at `positions` (numbers or a mask)."""
        positions = np.arange(len(self))[positions]
        known = self.columns
        if not isinstance(known, _Columns):
            columns = {name: take_blocks(column, positions) for name, column in known.items()}
            return StatisticsTable(self.rows[positions], columns)
        blocks = tuple(known.blocks[place] for place in positions.tolist())
        gathered = {name: (take_blocks(known[name], positions), len(blocks)) for name in list(known.gathered)}
        return StatisticsTable(self.rows[positions], _Columns(known.types, blocks, gathered))

    def part(self, positions: Array) -> StatisticsTable:
        """Return a table of the blocks at `positions`, for planning: columns are gathered in this table."""
        positions = np.arange(len(self))[positions]
        return StatisticsTable(self.rows[positions], _Taken(self.columns, positions))

    def __len__(self) -> int:
        return len(self.rows)

    def count(self) -> int:
        """Return the number of rows in all blocks."""
        return int(self.rows.sum())

    def count_valid(self, name: str) -> int:
        """Return the number of rows whose column is not null."""
        return int(self.columns[name].valid_counts.sum())

    def size_bytes(self, name: str) -> int:
        return int(self.columns[name].size_bytes.sum())

    def minimum(self, name: str) -> StatisticsAnswer | None:
        """Return min(column), or None if the statistics do not give it exactly."""
        return self._extreme(name, least=True)

    def maximum(self, name: str) -> StatisticsAnswer | None:
        """Return max(column), or None if the statistics do not give it exactly."""
        return self._extreme(name, least=False)

    def _extreme(self, name: str, least: bool) -> StatisticsAnswer | None:
        """Return the extreme, which every planned join over the column asks for."""
        if (name, least) not in self._extremes:
            self._extremes[name, least] = self._find_extreme(name, least)
        return self._extremes[name, least]

    def _find_extreme(self, name: str, least: bool) -> StatisticsAnswer | None:
        column = self.columns[name]
        live = column.valid_counts > 0
        if not live.any():
            return StatisticsAnswer(None)
        if column.bounds is None or (live & (column.has_nan | column.bounds.unknown | ~column.exact)).any():
            return None
        value = _extreme_of(column, live, least)
        try:
            return StatisticsAnswer(from_domain(value, column.dtype))
        except OverflowError:
            return None

    def num_distinct(self, name: str) -> int:
        """Estimate the number of distinct valid values over all blocks."""
        if name not in self._num_distinct:
            self._num_distinct[name] = _count_distinct(self.columns[name])
        return self._num_distinct[name]


def _rows(blocks: Sequence[BlockFigures]) -> Array:
    return np.array([block.num_rows for block in blocks], np.int64)


def _count_distinct(column: ColumnTable) -> int:
    live = column.valid_counts > 0
    if not live.any():
        return 0
    has_set = column.sets.set_ids[live] >= 0
    if has_set.all():
        return len(column.sets.values)
    counts, valid = column.num_distinct[live], column.valid_counts[live]
    if (has_set | column.sketched[live]).all() and column.registers is not None:
        registers = column.registers
        if column.sets.values:
            registers = np.maximum(registers, registers_of_values(column.sets.values, column.dtype))
        estimate = value_sets.estimate(registers)
        # Blocks without common values: the sum of their counts is more exact than a sketch.
        return int(counts.sum() if estimate > _DISJOINT * counts.sum() else max(counts.max(), estimate))
    if counts.sum() > _DISJOINT * valid.sum():
        return int(counts.sum())
    estimate = counts.sum() / _overlap(column, live)
    return int(max(counts.max(), min(estimate, valid.sum())))


def _extreme_of(column: ColumnTable, live: Mask, least: bool) -> DomainValue:
    if column.whole_bounds is not None:
        pairs = [column.whole_bounds[index] for index in np.flatnonzero(live)]
        return min(low for low, _ in pairs) if least else max(high for _, high in pairs)
    assert isinstance(column.bounds, NumberBounds)
    found = column.bounds.low[live].min() if least else column.bounds.high[live].max()
    return found.item()  # type: ignore[no-any-return]


def _overlap(column: ColumnTable, live: Mask) -> float:
    """Estimate the average number of blocks whose ranges cover a value."""
    if not isinstance(column.bounds, NumberBounds):
        return float(live.sum())
    low, high = column.bounds.low[live].astype(np.float64), column.bounds.high[live].astype(np.float64)
    spread = float(high.max() - low.min())
    return max(1.0, float((high - low).sum()) / spread) if spread > 0 and np.isfinite(spread) else float(live.sum())


def column_table(dtype: t.DataType, blocks: Sequence[ColumnStatistics]) -> ColumnTable:
    """Return the statistics of one column as arrays over the blocks."""
    nulls = np.array([stats.null_count for stats in blocks], np.int64)
    valid = np.array([stats.num_valid for stats in blocks], np.int64)
    has_nan = np.array([stats.has_nan for stats in blocks], np.bool_)
    exact = np.array([stats.exact for stats in blocks], np.bool_)
    unbounded = np.array([stats.low is None or stats.high is None for stats in blocks], np.bool_)
    unknown = (unbounded & (valid > 0)) | has_nan
    bounds, whole = _bounds(dtype, blocks, unknown)
    return ColumnTable(
        dtype,
        nulls,
        valid,
        has_nan,
        exact,
        bounds,
        whole,
        distinct_sets([stats.distinct for stats in blocks]),
        np.array([stats.num_distinct for stats in blocks], np.int64),
        np.array([stats.size_bytes for stats in blocks], np.int64),
        np.array([stats.sketch is not None for stats in blocks], np.bool_),
        _merged([np.frombuffer(stats.sketch, np.uint8) for stats in blocks if stats.sketch is not None]),
    )


def _bounds(
    dtype: t.DataType, blocks: Sequence[ColumnStatistics], unknown: Mask
) -> tuple[Bounds | None, tuple[tuple[bytes, bytes], ...] | None]:
    match domain_of(dtype):
        case Domain.BYTES:
            lows = [stats.low if isinstance(stats.low, bytes) else b"" for stats in blocks]
            highs = [stats.high if isinstance(stats.high, bytes) else b"" for stats in blocks]
            whole = np.array([is_whole(high) for high in highs], np.bool_)
            return ByteBounds(word_arrays(lows), word_arrays(highs), whole, unknown), tuple(
                zip(lows, highs, strict=True)
            )
        case Domain.NONE:
            return None, None
        case domain:
            kind = np.int64 if domain is Domain.INTEGER else np.float64
            low = np.array([0 if stats.low is None else stats.low for stats in blocks], kind)
            high = np.array([0 if stats.high is None else stats.high for stats in blocks], kind)
            return NumberBounds(low, high, unknown), None


def concat_columns(columns: Sequence[ColumnTable]) -> ColumnTable:
    def join(pick: Callable[[ColumnTable], Array]) -> Array:
        return np.concatenate([pick(column) for column in columns])

    whole = [column.whole_bounds for column in columns]
    all_bounds = [column.bounds for column in columns if column.bounds is not None]
    sets = [block for column in columns for block in sets_by_block(column.sets)]
    return ColumnTable(
        columns[0].dtype,
        join(lambda column: column.null_counts),
        join(lambda column: column.valid_counts),
        join(lambda column: column.has_nan),
        join(lambda column: column.exact),
        concat_bounds(all_bounds) if all_bounds else None,
        None if None in whole else tuple(pair for pairs in whole if pairs is not None for pair in pairs),
        distinct_sets(sets),
        join(lambda column: column.num_distinct),
        join(lambda column: column.size_bytes),
        join(lambda column: column.sketched),
        _merged([column.registers for column in columns if column.registers is not None]),
    )


def take_blocks(column: ColumnTable, positions: Array) -> ColumnTable:
    whole = column.whole_bounds
    sets = sets_by_block(column.sets)
    return ColumnTable(
        column.dtype,
        column.null_counts[positions],
        column.valid_counts[positions],
        column.has_nan[positions],
        column.exact[positions],
        None if column.bounds is None else column.bounds.take(positions),
        None if whole is None else tuple(whole[int(index)] for index in positions),
        distinct_sets([sets[int(index)] for index in positions]),
        column.num_distinct[positions],
        column.size_bytes[positions],
        column.sketched[positions],
        column.registers if len(positions) else None,
    )


def _merged(registers: Sequence[Array]) -> Array | None:
    return np.maximum.reduce(registers) if registers else None
