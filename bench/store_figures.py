"""Figures of the memory store itself: decoding by encoding, encoding of TPC-H's lineitem, pruning of a million blocks.

`python -m bench.store_figures [lineitem.parquet]` prints them; without a file the data is made at scale 1.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.columnar import encodings
from sharkpy.columnar.block import Block, encode_block
from sharkpy.columnar.bounds import ByteBounds, NumberBounds
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.columnar.pruning import And, Compare, InSet, LikePrefix, Mapped, Predicate, prune
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.columnar.value_sets import DistinctSets, distinct_sets
from sharkpy.values import types as t

Row = dict[str, str | int | float]

ROWS = 1 << 20
BLOCK_ROWS = 1_000_000
BLOCKS = 1_000_000
REPEATS = 7


@dataclass(frozen=True, slots=True)
class DecodeCase:
    """Column to decode, in a forced encoding, so that the figure measures the encoding that it names."""

    label: str
    encoding: str
    dtype: t.DataType
    values: Callable[[np.random.Generator], pa.Array[Any]]


def _integers(low: int, high: int, width: str) -> Callable[[np.random.Generator], pa.Array[Any]]:
    return lambda rng: pa.array(rng.integers(low, high, ROWS).astype(width))


CASES: tuple[DecodeCase, ...] = (
    DecodeCase("u8 to int", "narrow", t.INT, _integers(0, 200, "i4")),
    DecodeCase("u16 to int", "narrow", t.INT, _integers(0, 60_000, "i4")),
    DecodeCase("u16 to bigint", "narrow", t.BIGINT, _integers(0, 60_000, "i8")),
    DecodeCase("u32 to bigint", "narrow", t.BIGINT, _integers(0, 1 << 30, "i8")),
    DecodeCase("12 bits to int", "bit_packed", t.INT, _integers(0, 4000, "i4")),
    DecodeCase("18 bits to bigint", "bit_packed", t.BIGINT, _integers(0, 250_000, "i8")),
    DecodeCase("4 bits to bigint", "delta", t.BIGINT, lambda rng: pa.array(np.cumsum(rng.integers(0, 16, ROWS)))),
    DecodeCase(
        "runs of 100", "run_length", t.BIGINT, lambda rng: pa.array(np.repeat(rng.integers(0, 99, ROWS), 100)[:ROWS])
    ),
    DecodeCase("prices to double", "scaled", t.DOUBLE, lambda rng: pa.array(rng.integers(0, 9999, ROWS) / 100)),
    DecodeCase("5 strings", "dictionary", t.STRING, lambda rng: pa.array(rng.integers(0, 5, ROWS)).cast(pa.string())),
    DecodeCase(
        "different strings", "block", t.STRING, lambda rng: pa.array(rng.integers(0, 1 << 40, ROWS)).cast(pa.string())
    ),
    DecodeCase("booleans", "boolean", t.BOOLEAN, lambda rng: pa.array(rng.random(ROWS) < 0.5)),
    DecodeCase("bigints", "plain", t.BIGINT, _integers(-(1 << 62), 1 << 62, "i8")),
)


def best_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least of several times, after one run that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def decode_rates() -> Iterator[Row]:
    """Values a second decoded into the logical type, and into the form that is scanned."""
    rng = np.random.default_rng(1)
    for case in CASES:
        schema = t.Schema((t.Field("x", case.dtype),))
        table = pa.table({"x": case.values(rng)})
        block = Block.from_buffer(encode_block(table, schema, force_encoding=case.encoding).content)
        if block.encoding("x") != case.encoding:
            raise RuntimeError(f"{case.label}: encoded as {block.encoding('x')}")
        decoded = best_seconds(lambda block=block: block.read(["x"], decoded=True))  # type: ignore[misc]
        scanned = best_seconds(lambda block=block: block.scan_forms(["x"]))  # type: ignore[misc]
        yield {
            "measure": "decode",
            "case": f"{case.encoding}: {case.label}",
            "giga_values_per_second": round(ROWS / decoded / 1e9, 3),
            "scan_form_milliseconds": round(scanned * 1e3, 3),
            "bytes_per_value": round(block.statistics["x"].size_bytes / ROWS, 3),
        }


def encode_rate(lineitem: str) -> Iterator[Row]:
    """Rate of encoding all columns of lineitem, on one thread, without the time to read the file."""
    schema: t.Schema | None = None
    seconds = size = rows = raw = 0.0
    for table in _blocks(lineitem):
        schema = schema or t.Schema(tuple(t.Field(f.name, t.from_arrow(f.type)) for f in table.schema))
        if rows == 0:
            encode_block(table.slice(0, 1000), schema)
        start = time.perf_counter()
        encoded = encode_block(table, schema)
        seconds += time.perf_counter() - start
        size, rows, raw = size + encoded.size_bytes, rows + encoded.num_rows, raw + table.nbytes
    yield {
        "measure": "encode",
        "case": "lineitem, 16 columns",
        "rows": int(rows),
        "seconds": round(seconds, 3),
        "million_rows_per_second": round(rows / seconds / 1e6, 3),
        "encoded_megabytes": round(size / 1e6, 1),
        "arrow_megabytes": round(raw / 1e6, 1),
    }


def _blocks(path: str) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in pq.ParquetFile(path).iter_batches(BLOCK_ROWS, use_threads=False):
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= BLOCK_ROWS:
            yield _logical(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield _logical(pa.Table.from_batches(waiting))


def _logical(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(f.name, t.to_arrow(t.from_arrow(f.type))) for f in table.schema])).combine_chunks()


def million_blocks(num_blocks: int = BLOCKS) -> StatisticsTable:
    """Made-up statistics: a key in order, dates in disorder, few flags, many names."""
    rng = np.random.default_rng(2)
    keys, days = np.arange(num_blocks) * 100, rng.integers(8000, 12000, num_blocks)
    names = np.sort(rng.integers(0, 1 << 62, num_blocks).astype(np.uint64))
    none = np.zeros(num_blocks, np.bool_)
    without = DistinctSets(np.full(num_blocks, -1, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int64), ())
    shared = distinct_sets([(b"A", b"N"), (b"R",), (b"A", b"N", b"R")])
    flags = DistinctSets(rng.integers(0, 3, num_blocks, np.int32), shared.offsets, shared.codes, shared.values)
    text = ByteBounds(np.stack([names, names]), np.stack([names + np.uint64(1 << 40), names]), none, none)

    def column(dtype: t.DataType, bounds: NumberBounds | ByteBounds, sets: DistinctSets = without) -> ColumnTable:
        counts = np.full(num_blocks, 1000, np.int64)
        return ColumnTable(dtype, counts * 0, counts, none, ~none, bounds, None, sets, counts, counts, none, None)

    columns = {
        "key": column(t.BIGINT, NumberBounds(keys, keys + 99, none)),
        "day": column(t.DATE, NumberBounds(days, days + 30, none)),
        "name": column(t.STRING, text),
        "flag": column(t.STRING, text, flags),
    }
    return StatisticsTable(np.full(num_blocks, 1000, np.int64), columns)


_YEAR = (Compare("day", ">=", date(1995, 1, 1)), Compare("day", "<", date(1996, 1, 1)))
PREDICATES: tuple[tuple[str, Predicate], ...] = (
    ("key = 500", Compare("key", "=", 500)),
    ("day in 1995", And(_YEAR)),
    ("year(day) = 1995", Compare(Mapped("year", "day"), "=", 1995)),
    ("key in 1000 values", InSet("key", tuple(range(0, 10**8, 10**5)))),
    ("name like 'ab%'", LikePrefix("name", "ab")),
    ("flag = 'R'", Compare("flag", "=", "R")),
    ("all of day, key, flag", And((*_YEAR, Compare("key", ">=", 5000), Compare("flag", "=", "R")))),
)


def pruning() -> Iterator[Row]:
    stats = million_blocks()
    for label, predicate in PREDICATES:
        seconds = best_seconds(lambda predicate=predicate: prune(stats, predicate))  # type: ignore[misc]
        kept = int(prune(stats, predicate).sum())
        yield {
            "measure": "prune",
            "case": label,
            "blocks": len(stats),
            "milliseconds": round(seconds * 1e3, 2),
            "kept": kept,
        }


def profile_rate() -> Iterator[Row]:
    """Rate at which loading profiles a column of integers."""
    values = pa.array(np.random.default_rng(3).integers(0, 250_000, ROWS))
    seconds = best_seconds(lambda: encodings.encode(ColumnProfile(values, t.BIGINT)))
    yield {"measure": "profile and encode", "case": "bigint", "million_values_per_second": round(ROWS / seconds / 1e6)}


def run(lineitem: str | None = None) -> list[dict[str, str | int | float]]:
    """Run all measures; `lineitem` is TPC-H's table as Parquet, made at scale 1 if it is not given."""
    rows = [*decode_rates(), *profile_rate(), *pruning()]
    if lineitem is not None:
        return [*rows, *encode_rate(lineitem)]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(Path(sys.executable).with_name("tpcgen-cli")),
            "tpch",
            "parquet",
            "-s",
            "1",
            "--tables=lineitem",
            f"--output-dir={folder}",
            "--quiet",
        ]
        subprocess.run(command, check=True)
        return [*rows, *encode_rate(str(Path(folder, "lineitem.parquet")))]


def main() -> None:
    for row in run(sys.argv[1] if len(sys.argv) > 1 else None):
        print("  ".join(f"{key}={value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
