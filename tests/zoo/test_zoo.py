"""A zoo of data: odd values of every type, two levels of nesting, in every kind of store, along every path.

Rows are compared with the values that they were made of, and files with what the library of their format reads. `make
test` takes a part of the pairs of nesting and type, `make test-all` all of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from tests.lake.tables import own_catalog
from tests.zoo.animals import ROWS, Columns, all_columns, few_columns, flat_columns, shown

_ESCAPED = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' ESCAPED BY '\\\\'"
STORES = {
    "text": f"{_ESCAPED} STORED AS TEXTFILE",
    "csv": "USING csv OPTIONS (multiLine 'true')",
    "json": "STORED AS JSONFILE",
    "avro": "STORED AS AVRO",
    "orc": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "rcfile": "STORED AS RCFILE",
    "sequencefile": f"{_ESCAPED} STORED AS SEQUENCEFILE",
    "iceberg": "USING iceberg",
    "delta": "USING delta",
    "memory": "STORED AS PARQUET TBLPROPERTIES ('shark.cache'='MEMORY')",
}
LAKES = {"iceberg": "pyiceberg", "delta": "deltalake"}
_PATHS = {
    "overwrite": "INSERT OVERWRITE TABLE {0} SELECT * FROM {0}",
    "update": "UPDATE {0} SET k = k + 1000 WHERE k % 2 = 0",
    "delete": "DELETE FROM {0} WHERE k < 0",
    "merge": "MERGE INTO {0} t USING (SELECT 1L AS n) q ON t.k = q.n WHEN MATCHED THEN UPDATE SET k = q.n + 1000",
    "cache": "CACHE TABLE {0}",
}
"""Statements that write or load the rows that a table has, and leave all columns but `k` as they are."""


Rows = list[dict[str, Any]]


def rows(context: sharkpy.SharkContext, query: str) -> Rows:
    return context.sql(query).to_arrow().to_pylist()


def columns_of(store: str, columns: Columns) -> Columns:
    """The columns that a store has, with the values that come out of it."""
    if store == "csv":
        # Bytes are refused, and an empty text is NULL, as in Spark.
        found = {name: column for name, column in flat_columns().items() if name != "c_binary"}
        for name in ("c_string", "c_varchar_5"):
            sql, arrow, values = found[name]
            found[name] = (sql, arrow, [value or None for value in values])
        return found
    if store == "rcfile":
        # A cell without bytes is NULL.
        sql, arrow, values = columns["c_binary"]
        return columns | {"c_binary": (sql, arrow, [value or None for value in values])}
    return columns


def source(folder: Path, columns: Columns) -> str:
    arrays = [pa.array(values, arrow) for _, arrow, values in columns.values()]
    table = pa.table([pa.array(range(ROWS), pa.int64()), *arrays], names=["k", *columns])
    pq.write_table(table, folder / "source.parquet")
    return f"'{folder}/source.parquet'"


def check(found: Rows, columns: Columns, what: str) -> None:
    """Compare rows in their order with the values of each column."""
    assert len(found) == ROWS
    wrong = []
    for name, (_, _, values) in columns.items():
        got = [next(value for key, value in row.items() if key.lower() == name) for row in found]
        wrong += [
            f"{name}, row {row}: {one!r:.60} instead of {value!r:.60}"
            for row, (one, value) in enumerate(zip(got, values, strict=True))
            if shown(one) != shown(value)
        ]
    assert not wrong, (what, wrong[:5])


def make(context: sharkpy.SharkContext, store: str, folder: Path, columns: Columns) -> str:
    """Table of a store with the rows of all columns."""
    if store in LAKES:
        pytest.importorskip(LAKES[store], reason=f"the extra {store} is not installed")
    name = f"{store}_{len(columns)}"
    types = ", ".join(f"{column} {sql}" for column, (sql, _, _) in columns.items())
    context.sql(f"CREATE TABLE {name} (k BIGINT, {types}) {STORES[store]}")
    context.sql(f"INSERT INTO {name} SELECT * FROM {source(folder, columns)}")
    return name


def folder_of(context: sharkpy.SharkContext, name: str) -> str:
    return context.catalog.table("default", name).location or ""


def _files(context: sharkpy.SharkContext, name: str, suffix: str) -> list[Path]:
    folder = Path(folder_of(context, name))
    return sorted(path for path in folder.rglob(f"*{suffix}") if not path.name.startswith((".", "_")))


def _of_parquet(context: sharkpy.SharkContext, name: str) -> Rows:
    return pa.concat_tables([pq.read_table(path) for path in _files(context, name, ".parquet")]).to_pylist()


def _of_orc(context: sharkpy.SharkContext, name: str) -> Rows:
    """Rows without times: Arrow has ORC's times in nanoseconds, and so not the first years."""
    files = [pyarrow.orc.ORCFile(path) for path in _files(context, name, ".orc")]
    kept = [field.name for field in files[0].schema if "timestamp" not in field.name]
    return pa.concat_tables([file.read(columns=kept) for file in files]).to_pylist()


def _of_avro(context: sharkpy.SharkContext, name: str) -> Rows:
    import fastavro

    found: list[Any] = []
    for path in _files(context, name, ".avro"):
        with path.open("rb") as file:
            found += fastavro.reader(file)
    return found


def _of_delta(context: sharkpy.SharkContext, name: str) -> Rows:
    from deltalake import DeltaTable

    return DeltaTable(folder_of(context, name)).to_pyarrow_table().to_pylist()


def _of_iceberg(context: sharkpy.SharkContext, name: str) -> Rows:
    """The data files: pyiceberg itself gives an empty array for one of structs that is NULL."""
    tasks = own_catalog(context).load_table(f"default.{name}").scan().plan_files()
    return pa.concat_tables([pq.read_table(task.file.file_path.removeprefix("file://")) for task in tasks]).to_pylist()


_LIBRARIES: dict[str, Callable[[sharkpy.SharkContext, str], Rows]] = {
    "parquet": _of_parquet,
    "orc": _of_orc,
    "avro": _of_avro,
    "delta": _of_delta,
    "iceberg": _of_iceberg,
}
"""Rows of a table's local files as the library of their format reads them."""


def walk(context: sharkpy.SharkContext, store: str, folder: Path, columns: Columns) -> None:
    name = make(context, store, folder, {name: columns[name] for name in columns_of(store, columns)})
    columns = columns_of(store, columns)
    check(rows(context, f"SELECT * FROM {name} ORDER BY k"), columns, "insert")
    if store in _LIBRARIES and "://" not in folder_of(context, name):
        found = sorted(_LIBRARIES[store](context, name), key=lambda row: row["k"])
        there = {key.lower() for key in found[0]}
        kept = {column: known for column, known in columns.items() if column in there}
        check(found, kept, "its own library")
    for path, statement in _PATHS.items():
        context.sql(statement.format(name))
        check(rows(context, f"SELECT * FROM {name} ORDER BY k % 1000"), columns, path)
    context.sql(f"DROP TABLE {name}")


@pytest.mark.parametrize("store", STORES)
def test_part_of_the_pairs(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    walk(context, store, tmp_path, few_columns())


@pytest.mark.variants(3)
@pytest.mark.parametrize("store", ["parquet", "orc", "avro", "json", "text", "csv", "sequencefile", "rcfile"])
def test_streams_and_sinks(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    """Files that come to a folder pass through a sink, and its files through a continuous table."""
    chosen = columns_of(store, few_columns())
    types = ", ".join(f"{column} {sql}" for column, (sql, _, _) in chosen.items())
    form, given = STORES[store], {name: few_columns()[name] for name in chosen}
    context.sql(f"CREATE TABLE {store}_in (k BIGINT, {types}) {form}")
    context.sql(f"INSERT INTO {store}_in SELECT * FROM {source(tmp_path, given)}")
    folder = Path(folder_of(context, f"{store}_in"))
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_"))]
    (tmp_path / "in").mkdir()
    for number, path in enumerate(files):
        shutil.copy(path, tmp_path / "in" / f"{number}{path.suffix}")
    context.sql(f"CREATE STREAM {store}_given (k BIGINT, {types}) {form} FROM FOLDER '{tmp_path}/in'")
    query = f"TRIGGER AVAILABLE NOW AS SELECT * FROM {store}"
    context.sql(f"CREATE CONTINUOUS SINK {store}_sink TO FOLDER '{tmp_path}/out' {form} {query}_given")
    context.sql(f"CREATE STREAM {store}_taken (k BIGINT, {types}) {form} FROM FOLDER '{tmp_path}/out'")
    context.sql(f"CREATE CONTINUOUS TABLE {store}_kept {query}_taken")
    check(rows(context, f"SELECT * FROM {store}_kept ORDER BY k"), chosen, "a stream, a sink and a continuous table")
    for statement in ("CONTINUOUS TABLE {}_kept", "CONTINUOUS SINK {}_sink", "STREAM {}_taken", "STREAM {}_given"):
        context.sql(f"DROP {statement.format(store)}")
    context.sql(f"DROP TABLE {store}_in")


@pytest.mark.variants(4)
@pytest.mark.parametrize("store", STORES)
def test_values_of_a_megabyte(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    if store in LAKES:
        pytest.importorskip(LAKES[store], reason=f"the extra {store} is not installed")
    large = ["é" * 500_000, "a\n" * 500_000, None, "😀" * 250_000]
    types, values = "s STRING", {"k": list(range(len(large))), "s": large}
    if store != "csv":
        types += ", l ARRAY<STRUCT<Up:STRING,b:INT>>"
        values["l"] = [[{"up": value, "b": 1}, None] for value in large]
    context.sql(f"CREATE TABLE {store}_large (k BIGINT, {types}) {STORES[store]}")
    pq.write_table(pa.table(values), tmp_path / "large.parquet")
    for statement in (
        f"INSERT INTO {store}_large SELECT * FROM '{tmp_path}/large.parquet'",
        f"INSERT OVERWRITE TABLE {store}_large SELECT * FROM {store}_large",
        f"CACHE TABLE {store}_large",
    ):
        context.sql(statement)
        found = rows(context, f"SELECT * FROM {store}_large ORDER BY k")
        assert [row["s"] for row in found] == large, statement
        if store != "csv":
            assert [row["l"] for row in found] == values["l"], statement


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", [store for store in STORES if store != "csv"])
def test_all_pairs(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    walk(context, store, tmp_path, all_columns())
