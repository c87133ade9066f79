"""Calls about what the engine knows of a table's rows without reading them: statistics of columns, and its blocks in
memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import pyarrow as pa

from sharkpy.base.errors import CorruptionError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import CacheMode
from sharkpy.columnar.block import Block
from sharkpy.columnar.domain import from_domain
from sharkpy.columnar.host import is_same_host
from sharkpy.execution.commands.table_statistics import current_statistics
from sharkpy.values.types import to_arrow
from sharkpy.values.value_text import format_value
from sharkpy.web.catalog_calls import COLUMN_PARAMETERS, system_table, table_of
from sharkpy.web.listings import page_of
from sharkpy.web.requests import ApiRequest

if TYPE_CHECKING:
    from sharkpy.catalog.table_statistics import ColumnStatistics
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics_table import StatisticsTable
    from sharkpy.columnar.version import TableVersion
    from sharkpy.values.types import DataType, Field

_MOST_COLUMNS = 100
_MOST_BLOCKS = 2_000
"""Most blocks whose statistics of a column are read: each takes some 20 microseconds."""
_SECONDS = 0.03
"""Time after which a call reads no more columns."""
_OPENED = 800
"""Most columns of blocks that one call looks at in the blocks' files."""
_SAMPLED_BLOCKS = 256
_DECODED_ROWS = 1_000_000
"""Most values that one call decodes to learn their size."""
_SHOWN_VALUES = 12
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class ColumnFigures:
    """Statistics of a column. Values are texts as SELECT shows them; figures that are not known are null.

    `source`: blocks of the version in memory, or analyze for ANALYZE TABLE … FOR COLUMNS. `num_distinct` is an
    estimate. `values`: all values, if there are few.
    """

    name: str
    source: str | None
    num_rows: int | None
    num_nulls: int | None
    num_distinct: int | None
    low: str | None
    high: str | None
    average_length: float | None
    max_length: int | None
    num_true: int | None
    values: list[str] | None


@dataclass(frozen=True, slots=True)
class StatisticsAnswer:
    """Statistics of a page of columns, in the table's order. The page ends early if it takes long.

    `can_analyze`: ANALYZE TABLE would find missing figures.
    """

    columns: list[ColumnFigures]
    can_analyze: bool


def statistics(request: ApiRequest) -> StatisticsAnswer:
    shown = page_of(request, COLUMN_PARAMETERS, 50, _MOST_COLUMNS)
    session = request.parts.engine_session
    if system_table(request) is not None:
        return StatisticsAnswer([], False)
    table = table_of(request)
    analyzed = current_statistics(table, None, session)
    version = session.table_cache.loaded_version(table) if session.table_cache.is_cached(table) else None
    # Only some Hive partitions may be in memory.
    is_whole = version is not None and not table.is_partitioned and len(version.blocks) <= _MOST_BLOCKS
    own = version.statistics if version is not None and is_whole else None
    found: list[ColumnFigures] = []
    last = monotonic() + _SECONDS
    for field in list(table.shown_schema)[shown]:
        of_analyze = None if analyzed is None else analyzed.column(field.name)
        if own is not None and field.name in own.columns:
            found.append(_of_blocks(field, own, of_analyze))
        else:
            found.append(_of_analyze(field.name, None if analyzed is None else analyzed.num_rows, of_analyze))
        if monotonic() > last:
            break
    return StatisticsAnswer(found, table.is_stored and table.location is not None and not table.continuous)


def _of_analyze(name: str, num_rows: int | None, found: ColumnStatistics | None) -> ColumnFigures:
    if found is None:
        return ColumnFigures(name, None, num_rows, None, None, None, None, None, None, None, None)
    return ColumnFigures(
        *(name, "analyze", num_rows, found.num_nulls, found.num_distinct, found.low, found.high),
        *(found.average_length, found.max_length, found.num_true, None),
    )


def _of_blocks(field: Field, own: StatisticsTable, analyzed: ColumnStatistics | None) -> ColumnFigures:
    name, rows, num_valid = field.name, own.count(), own.count_valid(field.name)
    low, high = own.minimum(name), own.maximum(name)
    return ColumnFigures(
        *(name, "blocks", rows, rows - num_valid),
        # Arrays, maps and structs are not counted.
        (own.num_distinct(name) or None) if num_valid else 0,
        None if low is None else _text(low.value, field.dtype),
        None if high is None else _text(high.value, field.dtype),
        None if analyzed is None else analyzed.average_length,
        None if analyzed is None else analyzed.max_length,
        None if analyzed is None else analyzed.num_true,
        _few_values(own, field),
    )


def _text(value: object, dtype: DataType) -> str | None:
    return None if value is None else format_value(value, dtype)[:_SHOWN_CHARACTERS]


def _few_values(own: StatisticsTable, field: Field) -> list[str] | None:
    """Return all values of a column, or None if there are many or the statistics do not tell."""
    column = own.columns[field.name]
    has_values = column.valid_counts > 0
    is_known = bool((column.sets.set_ids[has_values] >= 0).all()) and not column.has_nan.any()
    if not is_known or not 0 < len(column.sets.values) <= _SHOWN_VALUES:
        return None
    try:
        return [_text(from_domain(value, field.dtype), field.dtype) or "" for value in column.sets.values]
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class MemoryColumn:
    """Column in memory. `decoded_bytes`, as Arrow arrays, is an estimate, or null if it was not measured.

    `encodings`: names of encodings, each with its share of the sampled blocks.
    """

    name: str
    type: str
    encoded_bytes: int
    decoded_bytes: int | None
    encodings: dict[str, float]


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """Hive partition in memory."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """Blocks of a table in memory, with a page of its columns.

    Figures of columns come from `num_sampled` blocks, which are spread over the table. `num_in_memory` and
    `num_evicted` count these blocks by the place of their files: shared memory, or the local disk.

    `reads_from_memory`, `reads_from_disk` and `reads_loaded` count the blocks that scans have read since the server
    started, or since UNCACHE TABLE. The last are reads that waited until their block was made from the table's files.
    """

    mode: str
    policy: str
    is_loaded: bool
    version: int | None
    num_rows: int
    num_blocks: int
    encoded_bytes: int
    num_sampled: int
    num_in_memory: int
    num_evicted: int
    reads_from_memory: int
    reads_from_disk: int
    reads_loaded: int
    has_durable_copy: bool
    hosts: list[str]
    partitions: list[HeldPartition]
    columns: list[MemoryColumn]


def memory(request: ApiRequest) -> MemoryAnswer:
    shown = page_of(request, COLUMN_PARAMETERS, 50, _MOST_COLUMNS)
    session = request.parts.engine_session
    table = None if system_table(request) is not None else table_of(request)
    if table is None or not session.table_cache.is_cached(table):
        return _nothing(CacheMode.NONE, "")
    version = session.table_cache.loaded_version(table)
    if version is None:
        return _nothing(table.cache_mode, str(table.cache_policy))
    sample = _spread(version.blocks, _SAMPLED_BLOCKS)
    in_memory = sum(map(_is_in_memory, sample))
    reads = session.table_cache.reads(table)
    partitions = session.table_cache.bytes_by_partition(table) if table.is_partitioned else {}
    return MemoryAnswer(
        *(table.cache_mode.value, str(table.cache_policy), True, version.sequence, version.statistics.count()),
        *(len(version.blocks), version.size_bytes, len(sample), in_memory, len(sample) - in_memory),
        *(reads.from_memory, reads.from_disk, reads.loaded),
        has_durable_copy=bool(sample) and all(one.durable_path is not None for one in sample),
        hosts=sorted({one.host for one in sample if one.host}),
        partitions=[HeldPartition(name, size) for name, size in list(partitions.items())[:_SAMPLED_BLOCKS]],
        columns=list(_columns(version, list(version.schema)[shown], sample)),
    )


def _nothing(mode: CacheMode, policy: str) -> MemoryAnswer:
    return MemoryAnswer(mode.value, policy, False, None, 0, 0, 0, 0, 0, 0, 0, 0, 0, False, [], [], [])


def _spread(blocks: Sequence[BlockHandle], most: int) -> list[BlockHandle]:
    """Return at most `most` blocks, evenly spread over all."""
    count = min(len(blocks), most)
    return [blocks[place * len(blocks) // count] for place in range(count)]


def _is_in_memory(handle: BlockHandle) -> bool:
    path = Path(handle.memory_path)
    return not is_same_host(handle.host) or (path.is_file() and not path.is_symlink())


def _columns(version: TableVersion, page: Sequence[Field], sample: Sequence[BlockHandle]) -> Iterator[MemoryColumn]:
    sampled_rows = sum(one.num_rows for one in sample)
    num_rows = version.statistics.count()
    factor = num_rows / sampled_rows if sampled_rows else 0.0
    opened = list(_opened(_spread(sample, max(1, _OPENED // max(1, len(page))))))
    most_decoded = _DECODED_ROWS // max(1, opened[0].num_rows) if opened else 0
    for field in page:
        encoded = sum(one.column_bytes.get(field.name, 0) for one in sample)
        encodings: Counter[str] = Counter()
        for block in opened:
            with suppress(CorruptionError, KeyError):
                encodings[block.encoding(field.name)] += 1
        decoded = _fixed_bytes(field.dtype, num_rows)
        if decoded is None and most_decoded > 0 and opened:
            most_decoded -= 1
            decoded = _decoded_bytes(opened[0], field.name, num_rows)
        yield MemoryColumn(
            field.name,
            str(field.dtype),
            round(encoded * factor),
            decoded,
            {name: count / encodings.total() for name, count in encodings.most_common()},
        )


def _opened(handles: Sequence[BlockHandle]) -> Iterator[Block]:
    """Yield the blocks that can be opened here. Checksums are not computed: these are reads of few bytes."""
    for one in handles:
        for path in (one.memory_path, one.durable_path):
            if path and is_same_host(one.host):
                with suppress(OSError, CorruptionError):
                    yield Block.open(path, verify=False)
                    break


def _fixed_bytes(dtype: DataType, num_rows: int) -> int | None:
    """Return the bytes of an Arrow array whose values all have the same size, with its bits for NULL, else None."""
    arrow = to_arrow(dtype)
    if pa.types.is_primitive(arrow) or pa.types.is_decimal(arrow):
        return num_rows * (arrow.bit_width + 1) // 8
    return None


def _decoded_bytes(block: Block, name: str, num_rows: int) -> int | None:
    if not block.num_rows:
        return None
    with suppress(CorruptionError, KeyError):
        return round(block.read([name], decoded=True).nbytes * num_rows / block.num_rows)
    return None
