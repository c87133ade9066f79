"""Parquet files whose rows an epoch adds unchanged: they are copied into the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import SourceError
from sharkpy.execution.commands.writes import passed_files, table_files
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW

_ROWS = pa.table({"n": pa.array(range(1000), pa.int64()), "s": [f"text {n % 7}" for n in range(1000)]})
_TOTALS = "SELECT count(*), sum(n), count(DISTINCT s) FROM t"


@pytest.fixture(autouse=True)
def small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passed_files, "_LEAST_BYTES", 1)


def make(
    context: sharkpy.SharkContext, folder: Path, query: str = "SELECT * FROM numbers", clauses: str = MEMORY
) -> None:
    context.sql(f"CREATE STREAM numbers (n BIGINT, s STRING) STORED AS PARQUET FROM FOLDER '{folder}'")
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS {query}")


def files_of(context: sharkpy.SharkContext) -> list[bytes]:
    location = Path(context.catalog.table("default", "t").location or "")
    return sorted(path.read_bytes() for path in location.rglob("*.parquet"))


def test_files_of_the_same_columns_are_copied(context: sharkpy.SharkContext, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(_ROWS, folder / "a.parquet", row_group_size=300)
    pq.write_table(_ROWS.slice(0, 0), folder / "b.parquet")
    pq.write_table(_ROWS.slice(0, 10), folder / "c.parquet")
    make(context, folder)
    assert rows(context, _TOTALS) == [(1010, 499545, 7)]
    given = sorted((folder / name).read_bytes() for name in ("a.parquet", "c.parquet"))
    assert files_of(context) == given
    assert rows(context, "SELECT rows FROM sys.epochs WHERE epoch = 1") == [(1010,)]
    # The table has files of its own: changes of the stream's files do not matter.
    (folder / "a.parquet").unlink()
    context.sql("UNCACHE TABLE t")
    assert rows(context, _TOTALS) == [(1010, 499545, 7)]


@pytest.mark.parametrize(
    ("query", "clauses", "written"),
    [
        ("SELECT * FROM numbers WHERE n >= 0", MEMORY, _ROWS),
        ("SELECT n AS m, s FROM numbers", MEMORY, _ROWS),
        ("SELECT s, n FROM numbers", MEMORY, _ROWS),
        ("SELECT n, upper(s) AS s FROM numbers", MEMORY, _ROWS),
        ("SELECT n FROM numbers", MEMORY, _ROWS),
        ("SELECT * FROM numbers", "", _ROWS),
        ("SELECT * FROM numbers", MEMORY.replace(")", ", 'parquet.compression' = 'zstd')"), _ROWS),
        ("SELECT * FROM numbers", MEMORY, _ROWS.append_column("more", _ROWS["n"])),
        ("SELECT * FROM numbers", MEMORY, _ROWS.select(["s", "n"])),
        ("SELECT * FROM numbers", MEMORY, _ROWS.select(["n"])),
        ("SELECT * FROM numbers", MEMORY, _ROWS.rename_columns(["N", "s"])),
        ("SELECT * FROM numbers", MEMORY, _ROWS.set_column(0, "n", _ROWS["n"].cast(pa.int32()))),
    ],
)
def test_other_rows_are_written(
    context: sharkpy.SharkContext, folder: Path, query: str, clauses: str, written: Any
) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(written, folder / "a.parquet")
    make(context, folder, query, clauses)
    assert rows(context, "SELECT count(*) FROM t") == [(1000,)]
    assert (folder / "a.parquet").read_bytes() not in files_of(context)


@pytest.mark.parametrize("makes_blocks", [True, False])
def test_a_damaged_file_is_not_passed_on(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch, makes_blocks: bool
) -> None:
    if not makes_blocks:
        monkeypatch.setattr(table_files, "make_blocks", lambda *_: False)
    folder.mkdir(exist_ok=True)
    pq.write_table(_ROWS, folder / "a.parquet", write_page_checksum=True, use_dictionary=False, compression="none")
    content = bytearray((folder / "a.parquet").read_bytes())
    content[500] ^= 255
    (folder / "a.parquet").write_bytes(content)
    with pytest.raises(SourceError, match=r"a\.parquet"):
        make(context, folder)
    assert files_of(context) == []
