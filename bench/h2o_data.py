"""Tables of the database-like ops benchmark (h2oai/db-benchmark, by H2O.ai and DuckDB Labs), seeded: groups by columns
of few and of many values, and joins with tables of other sizes. Scale 1 is 10 M rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.bigdata_data import write_batches

ROWS, BATCH, GROUPS = 10_000_000, 500_000, 100
"""`GROUPS` is the number of values of id1, id2, id4 and id5; id3 and id6 have a value for each hundred rows."""


def write_h2o(folder: Path, scale: float) -> None:
    rows = max(int(ROWS * scale), 10_000)
    write_batches(folder / "x" / "x.parquet", _grouped(rows))
    for name, size in (("small", rows // 1_000_000 or 10), ("medium", rows // 1_000), ("big", rows)):
        write_batches(folder / name / f"{name}.parquet", _joined(size, rows))


def _grouped(rows: int) -> Iterator[pa.Table]:
    rng = np.random.default_rng(108)
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        few = [rng.integers(1, GROUPS + 1, size) for _ in range(4)]
        many = [rng.integers(1, rows // GROUPS + 1, size) for _ in range(2)]
        yield pa.table(
            {
                "id1": _named(few[0], 3),
                "id2": _named(few[1], 3),
                "id3": _named(many[0], 10),
                "id4": few[2].astype(np.int32),
                "id5": few[3].astype(np.int32),
                "id6": many[1].astype(np.int32),
                "v1": rng.integers(1, 6, size, dtype=np.int32),
                "v2": rng.integers(1, 16, size, dtype=np.int32),
                "v3": np.round(rng.random(size) * 100, 6),
            }
        )


def _joined(size: int, rows: int) -> Iterator[pa.Table]:
    """Distinct keys; nine tenths of them are also keys of the rows."""
    rng = np.random.default_rng(size)
    keys = rng.permutation(np.arange(1, size * 10 // 9 + 1))[:size]
    for start in range(0, size, BATCH):
        part = keys[start : start + BATCH]
        known = (part - 1) % max(rows // GROUPS, 1) + 1
        yield pa.table(
            {
                "key": part.astype(np.int32),
                "id4": (part % GROUPS + 1).astype(np.int32),
                "id3": _named(known, 10),
                "v2": np.round(rng.random(len(part)) * 100, 6),
            }
        )


def _named(numbers: np.ndarray, digits: int) -> pa.Array:
    texts = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), digits, "0")
    return pc.binary_join_element_wise("id", texts, "")
