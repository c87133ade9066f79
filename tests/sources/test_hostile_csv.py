"""CSV files of unknown layout, made to take time and memory: the statement ends, and so does the work for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import sharkpy
from sharkpy.base.errors import ResourceError, SharkError
from sharkpy.sources.csv_files import records
from sharkpy.sources.csv_files.options import csv_options
from sharkpy.sources.csv_files.records import RecordReader
from tests.waiting import allowed

HOSTILE = {
    "a huge line": b"x" * (60 << 20),
    "a line of fields": b"1," * (4 << 20),
    "an open quote": b'a,b\n1,"2\n' + b"3,4\n" * (4 << 20),
    "quotes": b"a,b\n" + b'"x""y",1\n"""",2\n' * (1 << 20),
    "columns": b",".join([b"c"] * 300_000) + b"\n" + (b",".join([b"1"] * 300_000) + b"\n") * 20,
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("csv") / "w") as made:
        made.sql("SET shark.query.timeout=1")
        yield made


@pytest.mark.parametrize("name", HOSTILE)
def test_the_limit_of_time_ends_it(session: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_bytes(HOSTILE[name])
    before, began = psutil.Process().memory_info().rss, time.monotonic()
    # Reading the file within the limit does no harm.
    try:
        session.sql(f"SELECT count(*) FROM '{tmp_path}/a.csv'").fetchall()
    except SharkError as error:
        assert error.sqlstate in ("57014", "54000", "54011")  # noqa: PT017 - not each of them raises
    assert time.monotonic() - began < allowed(4)
    assert psutil.Process().memory_info().rss - before < 1 << 30


def test_a_table_has_so_many_columns(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b",".join([b"c"] * 60_000))
    with pytest.raises(ResourceError) as caught:
        session.sql(f"CREATE TABLE wide USING csv OPTIONS (header true) LOCATION '{tmp_path}'")
    assert caught.value.sqlstate == "54011"


def test_a_row_has_so_many_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_MOST_FIELDS", 10)
    with pytest.raises(ResourceError, match="fields"):
        RecordReader(csv_options(())).line("1," * 20)
