"""Catalog over a metastore: look-ups, changes, and changes undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from sharkpy.base import uri
from sharkpy.base.errors import (
    ExecutionError,
    TableChangedError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.hive_metastore import HiveTables
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.metastore_structs import body_of_partition, body_of_table, partition_of, table_id_of, table_of
from sharkpy.catalog.model import BucketSpec, Constraint, SkewSpec, StorageFormat, Table, TableKind
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.catalog.memory_metastore import MemoryMetastore, table_body


@pytest.fixture
def metastore() -> MemoryMetastore:
    return MemoryMetastore()


@pytest.fixture
def catalog(metastore: MemoryMetastore, tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(tmp_path, "metastore.sqlite", lambda file, _: HiveTables(file, metastore))
    yield catalog
    catalog.close()


def schema(text: str) -> Schema:
    pairs = (part.strip().split(" ", 1) for part in text.split(";"))
    return Schema(tuple(Field(name, parse_type(dtype)) for name, dtype in pairs))


def table(name: str = "t", columns: str = "a int", **more: object) -> Table:
    values: dict[str, object] = {"location": f"/wh/{name}", "storage": StorageFormat("text")}
    return Table(new_table_id(), "default", name, TableKind.MANAGED, schema(columns), **(values | more))  # type: ignore[arg-type]


PARTED = {"columns": "a int; p string", "partition_columns": ("p",)}


def test_a_table_of_others_is_found_and_is_the_same_object_until_it_changes(
    catalog: Catalog, metastore: MemoryMetastore
) -> None:
    metastore.tables["default", "t"] = table_body("t", "a int;m map<string,decimal(5,2)>", "ds date")
    found = catalog.table("default", "T")
    assert [(field.name, str(field.dtype)) for field in found.schema] == [
        ("a", "int"),
        ("m", "map<string,decimal(5,2)>"),
        ("ds", "date"),
    ]
    assert (found.partition_columns, found.location, found.storage.name) == (("ds",), "/wh/t", "text")
    assert catalog.table("default", "t") is found
    metastore.tables["default", "t"]["parameters"]["comment"] = "new"
    changed = catalog.table("default", "t")
    assert changed is not found
    assert changed == found
    assert changed.comment == "new"


def test_a_table_made_again_has_another_id(metastore: MemoryMetastore, catalog: Catalog) -> None:
    metastore.tables["default", "t"] = table_body("t")
    first = catalog.table("default", "t")
    metastore.tables["default", "t"] = table_body("t", createTime=1_700_000_009)
    assert catalog.table("default", "t") != first
    with pytest.raises(TableNotFoundError):
        catalog.require(first)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"parameters": {"transactional": "true"}}, "ACID"),
        ({"parameters": {"storage_handler": "x.Hbase"}}, "x.Hbase"),
        ({"parameters": {"spark.sql.sources.provider": "json"}}, "json table of Spark"),
        ({"tableType": "MATERIALIZED_VIEW"}, "MATERIALIZED_VIEW"),
        ({"sd": {"cols": [], "inputFormat": "a.B", "serdeInfo": {"serializationLib": "c.D"}}}, "SerDe c.D"),
    ],
)
def test_what_cannot_be_read_is_listed_and_refused_by_name(
    catalog: Catalog, metastore: MemoryMetastore, more: dict[str, object], message: str
) -> None:
    metastore.tables["default", "odd"] = table_body("odd", **more)
    metastore.tables["default", "good"] = table_body("good")
    assert catalog.table_names("default") == ["good", "odd"]
    assert [one.name for one in catalog.tables("default")] == ["good"]
    with pytest.raises(UnsupportedError, match=message):
        catalog.find_table("default", "odd")


def test_a_table_comes_back_as_it_was_made() -> None:
    made = table(
        columns="a int; s struct<x:int,y:array<string>>; d decimal(10,3); p string",
        storage=StorageFormat("text", (("field.delim", "|"),)),
        properties=(("k", "v"), ("shark.cache", "MEMORY")),
        comment="of mine",
        partition_columns=("p",),
        buckets=BucketSpec(("a",), 4, (("d", False),)),
        owner="me",
        skew=SkewSpec(("a",), (("1",), ("2",))),
        constraints=(Constraint("NOT NULL", "n", ("a",), is_enabled=True),),
    )
    again = table_of(body_of_table(made) | {"createTime": 5})
    assert dataclasses.asdict(again) == dataclasses.asdict(dataclasses.replace(made, created_at=5.0))


def test_what_a_change_does_not_speak_of_stays() -> None:
    body = table_body("t") | {"privileges": "theirs"}
    body["parameters"] |= {"spark.sql.create.version": "3", "numRows": "4"}
    body["sd"]["serdeInfo"]["name"] = "kept"
    altered = body_of_table(dataclasses.replace(table_of(body), comment="c"), body)
    assert altered["privileges"] == "theirs"
    assert altered["sd"]["serdeInfo"]["name"] == "kept"
    assert altered["parameters"] == body["parameters"] | {"comment": "c"}
    assert table_id_of(altered) == table_id_of(body)


def test_partitions_have_formats_and_places_of_their_own() -> None:
    body = table_body("t", "a int", "p string")
    owner = table_of(body)
    one = HivePartition(7, "p=x%2Fy", "/other", None, StorageFormat("parquet"), schema("a bigint"))
    stored = body_of_partition(one, owner, body)
    assert stored["values"] == ["x/y"]
    assert partition_of(stored, body, owner, 7) == one
    plain = HivePartition(8, "p=z")
    assert partition_of(body_of_partition(plain, owner, body), body, owner, 8) == plain


def test_partitions_keep_their_ids_while_others_come_and_go(catalog: Catalog, metastore: MemoryMetastore) -> None:
    body = metastore.tables["default", "t"] = table_body("t", "a int", "p string")
    owner = catalog.table("default", "t")
    with catalog.partition_changes(owner) as changes:
        changes.add("p=1")
        changes.add("p=2", "/far")
    first = {one.name: one for one in catalog.partitions(owner)}
    assert [one["sd"]["location"] for one in metastore.parts["default", "t"]] == ["file:/wh/t/p=1", "file:/far"]
    metastore.drop_partition("default", "t", ["1"])
    metastore.add_partitions([body_of_partition(HivePartition(0, "p=3"), owner, body)])
    second = {one.name: one for one in catalog.partitions(owner)}
    assert sorted(second) == ["p=2", "p=3"]
    assert second["p=2"] == first["p=2"]
    assert second["p=3"].partition_id not in {one.partition_id for one in first.values()}


def test_one_failed_step_takes_the_others_back(catalog: Catalog, metastore: MemoryMetastore) -> None:
    made = catalog.create_table(table(**PARTED))  # type: ignore[arg-type]
    with catalog.partition_changes(made) as changes:
        changes.add("p=old")
    before = (metastore.table_text("default", "t"), metastore.partitions_text("default", "t"))

    def change() -> None:
        with catalog.transaction():
            with catalog.partition_changes(made) as changes:
                changes.add("p=new")
                changes.drop([changes.known["p=old"]], with_data=True)
            assert [one.name for one in catalog.partitions(made)] == ["p=new"]
            catalog.alter_table(dataclasses.replace(made, comment="changed"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert (metastore.table_text("default", "t"), metastore.partitions_text("default", "t")) == before
    assert [one.name for one in catalog.partitions(made)] == ["p=old"]


def test_a_table_whose_data_cannot_be_put_in_place_is_not_there(catalog: Catalog, metastore: MemoryMetastore) -> None:
    with pytest.raises(ZeroDivisionError):
        catalog.create_table(table(), publish=lambda: 1 / 0)
    assert metastore.tables == {}
    metastore.fails.add("create_table")
    with pytest.raises(ExecutionError):
        catalog.create_table(table(), publish=lambda: pytest.fail("after a refusal"))


def test_renaming_moves_partitions_that_lay_in_the_table(catalog: Catalog, metastore: MemoryMetastore) -> None:
    made = catalog.create_table(table(**PARTED))  # type: ignore[arg-type]
    with catalog.partition_changes(made) as changes:
        changes.add("p=1")
        changes.add("p=2", "/far")
    moved = catalog.alter_table(dataclasses.replace(made, name="u", location="/wh/u"), was=made)
    assert catalog.find_table("default", "t") is None
    assert catalog.table("default", "u") == made == moved
    assert [one["sd"]["location"] for one in metastore.parts["default", "u"]] == ["file:/wh/u/p=1", "file:/far"]
    assert [(one.name, one.location) for one in catalog.partitions(moved)] == [("p=1", None), ("p=2", "/far")]


def test_a_partition_is_renamed_by_dropping_and_adding(catalog: Catalog, metastore: MemoryMetastore) -> None:
    made = catalog.create_table(table(**PARTED))  # type: ignore[arg-type]
    with catalog.partition_changes(made) as changes:
        changes.add("p=1")
    metastore.parts["default", "t"][0]["parameters"]["note"] = "kept"
    with catalog.partition_changes(made) as changes:
        changes.alter(changes.known["p=1"], dataclasses.replace(changes.known["p=1"], name="p=2"))
    assert [(one["values"], one["parameters"]) for one in metastore.parts["default", "t"]] == [
        (["2"], {"note": "kept"})
    ]


def test_a_change_by_others_meanwhile_is_not_lost(catalog: Catalog, metastore: MemoryMetastore) -> None:
    made = catalog.create_table(table())
    metastore.tables["default", "t"]["parameters"]["by"] = "others"
    with pytest.raises(TableChangedError):
        catalog.alter_table(dataclasses.replace(made, comment="c"), was=made)
    with pytest.raises(TableExistsError):
        catalog.create_table(table())


def test_counts_of_others_end_with_a_write(catalog: Catalog, metastore: MemoryMetastore) -> None:
    body = metastore.tables["default", "t"] = table_body("t")
    body["parameters"] |= {"numRows": "4", "spark.sql.statistics.totalSize": "9", "k": "v"}
    catalog.note_written(catalog.table("default", "t"))
    assert sorted(metastore.tables["default", "t"]["parameters"]) == ["k", "transient_lastDdlTime"]


def test_a_dropped_table_takes_its_folder_and_nothing_later(catalog: Catalog, tmp_path: Path) -> None:
    made = catalog.create_table(table(location=str(tmp_path / "t")))
    Path(tmp_path, "t").mkdir()
    catalog.drop_table(made)
    catalog.collect_garbage()
    Path(tmp_path, "t").mkdir()
    catalog.collect_garbage()
    assert Path(tmp_path, "t").is_dir()


def test_databases(catalog: Catalog, metastore: MemoryMetastore) -> None:
    catalog.create_database("More", comment="c", properties=(("a", "b"),), owner="me")
    found = catalog.database("more")
    assert (found.location, found.comment, found.properties, found.owner) == ("/wh/more.db", "c", (("a", "b"),), "me")
    catalog.alter_database(dataclasses.replace(found, properties=()))
    assert catalog.database_names() == ["default", "more"]
    assert catalog.database("more").properties == ()
    catalog.drop_database("more")
    assert metastore.database_names() == ["default"]


@pytest.mark.parametrize("place", ["s3a://bucket/t", "hdfs://nn:8020/t", "hdfs:/t"])
def test_remote_tables_are_known(catalog: Catalog, metastore: MemoryMetastore, place: str) -> None:
    body = metastore.tables["default", "far"] = table_body("far", "a int", "p string")
    body["sd"]["location"] = place
    for value, folder in (("1", f"{place}/p=1"), ("2", f"{place}/p=2/"), ("3", "s3n://other/x"), ("4", "file:/near")):
        part = body_of_partition(HivePartition(0, f"p={value}"), table_of(body), body)
        part["sd"]["location"] = folder
        metastore.parts.setdefault(("default", "far"), []).append(part)
    removed = list[str]()
    catalog.surroundings.remove_folder = lambda location, _: removed.append(location)
    found = catalog.table("default", "far")
    assert (found.location, catalog.tables("default")) == (place, [found])
    known = catalog.partitions(found)
    assert [one.location for one in known] == [None, None, "s3n://other/x", "/near"]
    assert [one.folder(found) for one in known] == [f"{place}/p=1", f"{place}/p=2", "s3n://other/x", "/near"]
    altered = catalog.alter_table(dataclasses.replace(found, comment="c"), was=found)
    assert metastore.tables["default", "far"]["sd"]["location"] == altered.location == place
    assert [one["sd"]["location"] for one in metastore.parts["default", "far"]][2:] == ["s3n://other/x", "file:/near"]
    external = catalog.alter_table(dataclasses.replace(altered, kind=TableKind.EXTERNAL))
    catalog.drop_table(external)
    assert catalog.table_names("default") == []
    assert removed == []
    metastore.tables["default", "far"] = body
    catalog.drop_table(catalog.table("default", "far"))
    assert catalog.table_names("default") == []
    catalog.collect_garbage()
    assert uri.normalized(place) in removed
    assert not {"s3n://other/x", "/near"} & set(removed)


def test_databases_below_a_remote_one(catalog: Catalog, metastore: MemoryMetastore) -> None:
    metastore.databases["default"]["locationUri"] = "hdfs://nn:8020/warehouse"
    catalog.create_database("More")
    assert catalog.database("more").location == "hdfs://nn:8020/warehouse/more.db"
    assert metastore.databases["more"]["locationUri"] == "hdfs://nn:8020/warehouse/more.db"
    assert catalog.managed_location("more", "T") == "hdfs://nn:8020/warehouse/more.db/t"


def test_tables_of_spark_say_more_in_properties() -> None:
    start = "spark.sql.sources."
    parameters = {f"{start}provider": "hive", f"{start}schema.numBucketCols": "1", f"{start}schema.numBuckets": "4"}
    body = table_body("t", parameters=parameters | {f"{start}schema.bucketCol.0": "A"})
    assert table_of(body).buckets == BucketSpec(("a",), 4)
    body["parameters"][f"{start}provider"] = "parquet"
    with pytest.raises(UnsupportedError, match="Spark's own form"):
        table_of(body)


def test_a_format_that_hive_has_not_is_refused(catalog: Catalog) -> None:
    with pytest.raises(UnsupportedError, match=r"USING csv in a metastore.*OpenCSVSerde"):
        catalog.create_table(table(storage=StorageFormat("csvfile")))


def test_the_copy_of_the_location_goes_with_it() -> None:
    body = table_body("t")
    body["sd"]["serdeInfo"]["parameters"]["path"] = "file:/wh/t"
    moved = body_of_table(dataclasses.replace(table_of(body), location="/wh/u"), body)
    assert (moved["sd"]["location"], moved["sd"]["serdeInfo"]["parameters"]["path"]) == ("file:/wh/u", "file:/wh/u")


def test_a_view_of_spark_is_read_in_the_database_it_was_made_in() -> None:
    parameters = {"view.catalogAndNamespace.part.1": "other"}
    body = table_body("v", tableType="VIRTUAL_VIEW", viewOriginalText="SELECT a FROM t", parameters=parameters)
    view = table_of(body)
    assert (view.kind, view.view_text, view.view_database) == (TableKind.VIEW, "SELECT a FROM t", "other")
