"""Tables of other programs whose columns and fields have upper-case letters: written here, read by the formats'
libraries.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra delta is not installed")
pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.transforms import BucketTransform, IdentityTransform

import sharkpy
from tests.lake.tables import own_catalog, run
from tests.rows import rows

_FIELDS = pa.struct([("userId", pa.int64()), ("b", pa.int64())])
_SCHEMA = pa.schema(
    [
        ("ID", pa.int64()),
        ("Day", pa.string()),
        ("S", _FIELDS),
        ("List", pa.list_(_FIELDS)),
        ("Map", pa.map_(pa.string(), _FIELDS)),
        ("Deep", pa.struct([("Up", pa.struct([("DeepX", pa.int32())]))])),
    ]
)
_SQL = (
    "{0}L, 'd{0}', named_struct('userid', {0}L, 'b', 2L), array(named_struct('userid', {0}L, 'b', 4L), NULL), "
    "map('Key', named_struct('userid', {0}L, 'b', 6L)), named_struct('up', named_struct('deepx', {0}))"
)


def row(number: int) -> dict[str, object]:
    return {
        "ID": number,
        "Day": f"d{number}",
        "S": {"userId": number, "b": 2},
        "List": [{"userId": number, "b": 4}, None],
        "Map": [("Key", {"userId": number, "b": 6})],
        "Deep": {"Up": {"DeepX": number}},
    }


def their_rows() -> pa.Table:
    return pa.Table.from_pylist([row(1)], schema=_SCHEMA)


def sorted_rows(table: pa.Table) -> list[dict[str, object]]:
    return table.sort_by("ID").to_pylist()


@pytest.mark.parametrize("divided", [[], ["Day"]])
def test_delta(context: sharkpy.SharkContext, tmp_path: Path, divided: list[str]) -> None:
    write_deltalake(str(tmp_path), their_rows(), partition_by=divided)
    name = f"delta_{len(divided)}"
    run(context, f"CREATE EXTERNAL TABLE {name} USING delta LOCATION '{tmp_path}'")
    run(context, f"INSERT INTO {name} SELECT {_SQL.format(2)}")
    assert sorted_rows(DeltaTable(str(tmp_path)).to_pyarrow_table()) == [row(1), row(2)]
    # Old rows pass through the engine, and must come out as they went in.
    run(context, f"INSERT OVERWRITE TABLE {name} SELECT * FROM {name}")
    assert sorted_rows(DeltaTable(str(tmp_path)).to_pyarrow_table()) == [row(1), row(2)]
    context.save_as_table(pa.Table.from_pylist([row(3)], schema=_SCHEMA), name, mode="append")
    assert sorted_rows(DeltaTable(str(tmp_path)).to_pyarrow_table()) == [row(1), row(2), row(3)]
    assert rows(context, f"SELECT sum(s.userId), sum(deep.up.deepx) FROM {name} WHERE s.userid > 1") == [(5, 5)]


@pytest.mark.parametrize("kind", ["plain", "divided"])
def test_iceberg(context: sharkpy.SharkContext, kind: str) -> None:
    name = f"iceberg_{kind}"
    run(context, f"CREATE TABLE seed_{kind} USING iceberg AS SELECT 1 AS a")
    catalog = own_catalog(context)
    made = catalog.create_table(f"default.{name}", schema=_SCHEMA)
    if kind == "divided":
        with made.update_spec() as spec:
            spec.add_field("Day", IdentityTransform(), "Day_part")
            spec.add_field("ID", BucketTransform(4), "ID_bucket")
    catalog.load_table(f"default.{name}").append(their_rows())
    run(context, f"CREATE EXTERNAL TABLE {name} USING iceberg", f"INSERT INTO {name} SELECT {_SQL.format(2)}")
    assert sorted_rows(catalog.load_table(f"default.{name}").scan().to_arrow()) == [row(1), row(2)]
    if kind == "plain":
        run(context, f"INSERT OVERWRITE TABLE {name} SELECT * FROM {name}")
    context.save_as_table([row(3)], name, mode="append")
    assert sorted_rows(catalog.load_table(f"default.{name}").scan().to_arrow()) == [row(1), row(2), row(3)]
    files = catalog.load_table(f"default.{name}").inspect.files()
    assert min(len(metrics) for metrics in files.column("value_counts").to_pylist()) == len(_leaves())
    run(context, f"ALTER TABLE {name} ADD COLUMNS (NewOne INT)", f"INSERT INTO {name} (id, newone) VALUES (9, 3)")
    assert rows(context, f"SELECT id, newone, s.userid FROM {name} WHERE id = 9 OR s.userid = 3 ORDER BY id") == [
        (3, None, 3),
        (9, 3, None),
    ]


def _leaves() -> list[str]:
    return ["ID", "Day", "S.userId", "S.b", "List.userId", "List.b", "Map.key", "Map.userId", "Map.b", "Deep.Up.DeepX"]


def test_own_tables_change_rows(context: sharkpy.SharkContext) -> None:
    """UPDATE, DELETE and MERGE write old rows again."""
    for number, kind in enumerate(("USING delta", "USING iceberg", "STORED AS PARQUET", "STORED AS AVRO")):
        columns = "id BIGINT, s STRUCT<userId:BIGINT,b:BIGINT>, l ARRAY<STRUCT<Xy:INT>>"
        run(context, f"CREATE TABLE own_{number} ({columns}) {kind}")
        for key in (1, 2, 3):
            row_sql = f"{key}, named_struct('x', {key}L, 'y', 0L), array(named_struct('z', {key}))"
            run(context, f"INSERT INTO own_{number} SELECT {row_sql}")
        run(context, f"UPDATE own_{number} SET id = 20 WHERE id = 2", f"DELETE FROM own_{number} WHERE id = 1")
        run(
            context,
            f"MERGE INTO own_{number} t USING (SELECT 3L AS k, named_struct('userid', 30L, 'b', 1L) AS n) q "
            "ON t.id = q.k WHEN MATCHED THEN UPDATE SET s = q.n",
        )
        found = rows(context, f"SELECT id, s.USERID, s.b, l[0].xy FROM own_{number} ORDER BY id")
        assert found == [(3, 30, 1, 3), (20, 2, 0, 2)], kind
