"""Remote locations in a catalog: they are kept as they are written, and nothing local is taken for theirs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.base import uri
from sharkpy.base.errors import BindError, StorageRefusedError, UnsupportedError
from sharkpy.base.uri import Locations, is_outside
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.table_folders import TableFolders, drops_folder
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.waiting import allowed

SCHEMA = Schema((Field("a", parse_type("int")), Field("p", parse_type("string"))))
FAR = "s3a://bucket/t"


def table(location: str | None, kind: TableKind = TableKind.EXTERNAL, name: str = "t") -> Table:
    return Table(new_table_id(), "default", name, kind, SCHEMA, location=location, partition_columns=("p",))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "wh")) as catalog:
        yield catalog


@pytest.mark.parametrize(
    "location", [FAR, "S3://b/t/", "hdfs:/t", "hdfs:///t", "gs://b//t/../x", "s3://b/t?sig=1", "s3://k:s@b/t"]
)
def test_a_catalog_keeps_remote_locations(tmp_path: Path, location: str) -> None:
    """A warehouse that was moved means the same remote places, and its own folders."""
    old, new = tmp_path / "old", tmp_path / "new"
    with closing(Catalog(old)) as catalog:
        catalog.create_database("d", location=location)
        made = catalog.create_table(table(location))
        with catalog.partition_changes(made) as changes:
            changes.add("p=1")
            changes.add("p=2", location)
            changes.add("p=3", f"{old}/near")
            changes.alter(changes.known["p=2"], changes.known["p=2"])
    old.rename(new)
    with closing(Catalog(new)) as catalog:
        assert catalog.database("d").location == location
        found = catalog.table("default", "t")
        assert found.location == location
        assert catalog.managed_location("d", "x").startswith(location.rstrip("/"))
        places = {one.name: one.folder(found) for one in catalog.partitions(found)}
        assert places == {"p=1": f"{location.rstrip('/')}/p=1", "p=2": location, "p=3": f"{new}/near"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new"]


WAREHOUSE = "/no/such/warehouse"
NAMES = st.text("ab:.s3", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))
PLACES = st.builds(
    lambda start, names: start + "/".join(names), st.sampled_from(["/", f"{WAREHOUSE}/"]), st.lists(NAMES)
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLACES, st.sampled_from(["s3://b", "a:", "file:", "hdfs://nn:1"]))
def test_locations_come_back_as_they_were_stored(place: str, root: str) -> None:
    locations = Locations.below(WAREHOUSE)
    remote = f"{root}{place}"
    assert locations.stored(remote) == locations.absolute(remote) == remote
    stored = locations.stored(place.rstrip("/") or "/")
    assert locations.absolute(stored) == (place.rstrip("/") or "/")
    assert is_outside(stored) != place.startswith(f"{WAREHOUSE}/")


@given(
    st.sampled_from(["s3://b", "s3://b/wh", "hdfs://", "hdfs://nn:1/wh", "abfss://c@a.net/wh"]),
    st.sampled_from(["", "/t", "//t", "/s3:/b", "/./t", "/../t", "x/t", "/t/p=%3A"]),
    st.lists(NAMES).map("/".join),
)
def test_locations_in_a_warehouse_at_a_uri_come_back(warehouse: str, start: str, names: str) -> None:
    """Stored locations are relative to the warehouse, so that the catalog fits a copy in another place. Other locations
    are stored as they are.
    """
    locations, place = Locations.below(warehouse), uri.normalized(f"{warehouse}{start}{names}")
    stored = locations.stored(place)
    assert locations.absolute(stored) == place
    assert is_outside(stored) == (uri.below(place, warehouse) is None)
    if not is_outside(stored):
        assert uri.below(Locations.below("gs://other/wh").absolute(stored), "gs://other/wh") is not None
    for path in (f"/a/{names}", "/", "file:/a/b", "s3a://b2/t"):
        assert locations.stored(path) == locations.absolute(path) == path


def test_a_folder_whose_name_looks_like_a_scheme_is_one_of_the_warehouse(tmp_path: Path) -> None:
    place = f"{tmp_path}/old/s3:/b"
    with closing(Catalog(tmp_path / "old")) as catalog:
        catalog.create_table(table(place))
    (tmp_path / "old").rename(tmp_path / "new")
    with closing(Catalog(tmp_path / "new")) as catalog:
        assert catalog.table("default", "t").location == f"{tmp_path}/new/s3:/b"


def noting(removed: list[str]) -> Callable[[str, Collection[str]], None]:
    return lambda location, _: removed.append(location)


def test_remote_folders_go_with_their_tables(catalog: Catalog) -> None:
    removed = list[str]()
    catalog.surroundings.remove_folder = noting(removed)
    made = catalog.create_table(table(FAR, TableKind.MANAGED))
    with catalog.partition_changes(made) as changes:
        for name, place in (("p=1", None), ("p=2", "s3://elsewhere/p=2"), ("p=3", None)):
            changes.add(name, place)
    with catalog.partition_changes(made) as changes:
        changes.drop([changes.known["p=3"]], with_data=True)
    catalog.collect_garbage()
    assert removed == ["s3://bucket/t/p=3"]
    removed.clear()
    catalog.drop_table(made)
    catalog.collect_garbage()
    catalog.collect_garbage()
    assert removed == ["s3://bucket/t"], "what lies below goes with it, and what lies elsewhere stays"
    catalog.drop_table(catalog.create_table(table(FAR, name="others")))
    catalog.collect_garbage()
    assert removed == ["s3://bucket/t"]


def test_what_cannot_be_removed_is_nobodys_data(catalog: Catalog) -> None:
    """Such a folder is removed before a new table gets it, under any of its names."""
    calls = list[str]()

    def refuse(location: str, _: Collection[str]) -> None:
        calls.append(location)
        raise StorageRefusedError("no")

    catalog.surroundings.remove_folder = refuse
    catalog.drop_table(catalog.create_table(table(FAR, TableKind.MANAGED)))
    catalog.collect_garbage()
    with pytest.raises(StorageRefusedError):
        catalog.create_table(table("s3://bucket/t", TableKind.MANAGED))
    with pytest.raises(StorageRefusedError):
        catalog.clear_garbage(f"{FAR}/below")
    assert catalog.table_names("default") == []
    assert calls == ["s3://bucket/t"] * 3
    catalog.surroundings.remove_folder = noting(calls)
    catalog.create_table(table("s3n://bucket/t/", TableKind.MANAGED))
    catalog.collect_garbage()
    assert len(calls) == 4


def test_folders_that_are_read_are_not_removed(catalog: Catalog) -> None:
    removed = list[str]()
    catalog.surroundings.remove_folder = noting(removed)
    catalog.drop_table(catalog.create_table(table(f"{FAR}/x", TableKind.MANAGED)))
    with catalog.readers.reading("s3n://bucket/t"):
        catalog.collect_garbage()
    assert removed == []
    catalog.collect_garbage()
    assert removed == ["s3://bucket/t/x"]


def test_others_change_the_catalog_while_dropped_rows_are_removed(catalog: Catalog) -> None:
    steps = list[str]()

    def removal(location: str, _: Collection[str]) -> Callable[[], Collection[str]]:
        return partial(remove, location)

    def remove(location: str) -> Collection[str]:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(catalog.create_database, f"d{len(steps)}").result(timeout=allowed(5))
        steps.append(f"rows of {location}")
        return [f"{location}/_files/x"]

    catalog.surroundings.removal_of_data = removal
    catalog.surroundings.remove_folder = lambda location, leavings: steps.append(
        f"{location} without {', '.join(leavings.removed)}"
    )
    catalog.drop_table(catalog.create_table(table(FAR, TableKind.MANAGED)))
    with catalog.readers.reading(FAR):
        catalog.collect_garbage()
    assert steps == []
    catalog.collect_garbage()
    assert steps == ["rows of s3://bucket/t", "s3://bucket/t without s3://bucket/t/_files/x"]
    catalog.create_table(table(f"{FAR}/inner", name="inner"))
    catalog.drop_table(catalog.create_table(table(FAR, TableKind.MANAGED)))
    catalog.collect_garbage()
    assert len(steps) == 2, "what holds the folders of others stays"


AZURE = "c@account.dfs.core.windows.net/t"


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (f"abfss://{AZURE}", "wasbs://c@Account.blob.core.windows.net/t", "wasbs://d@account.blob.core.windows.net/t"),
        (f"abfs://{AZURE}", f"abfss://{AZURE}/", f"abfss://{AZURE}t"),
        ("hdfs://nn/t", "hdfs://NN:8020/t", "hdfs://nn:8021/t"),
    ],
)
def test_a_place_that_has_several_names(catalog: Catalog, one: str, same: str, other: str) -> None:
    catalog.create_table(table(one, TableKind.MANAGED))
    folders = TableFolders(catalog)
    for place in (same, uri.parent(same)):
        with pytest.raises(BindError, match=r"default\.t|not the folder of one table"):
            folders.require_no_others(place, "OVERWRITE")
    assert folders.folder_inside(same) is not None
    assert folders.owner_at(uri.join(same, "x")) is not None
    assert folders.folder_inside(other) is None


def test_folders_of_others_in_remote_ones(catalog: Catalog) -> None:
    catalog.create_table(table("s3n://bucket/t/a/b/", TableKind.MANAGED, "inner"))
    folders = TableFolders(catalog)
    for place in ("s3://bucket/t", "s3a://bucket/t/a", "s3://bucket/t/a/b"):
        with pytest.raises(BindError, match="inner"):
            folders.require_no_others(place, "OVERWRITE")
    folders.require_no_others("s3://bucket/t/a/bb", "OVERWRITE")
    folders.require_no_others("s3://other/t/a", "OVERWRITE")
    with pytest.raises(BindError, match="not the folder of one table"):
        folders.require_no_others("s3://other/", "OVERWRITE")
    owner = folders.owner_at("s3a://bucket/t/a/b/c")
    assert owner is not None
    assert owner.owner == 'the table "default.inner"'


def test_remote_folders_are_in_nobodys_way(catalog: Catalog, tmp_path: Path) -> None:
    catalog.create_database("d", location=FAR)
    for number, place in enumerate((FAR, "s3://k:s@b/t", "hdfs:/")):
        made = catalog.create_table(table(place, TableKind.MANAGED, f"t{number}"))
        with catalog.partition_changes(made) as changes:
            changes.add("p=1", f"{place}/1")
    folders = TableFolders(catalog)
    folders.require_no_others(str(tmp_path / "wh" / "x"), "OVERWRITE")
    assert folders.owner_at(f"{tmp_path}/wh/t0") is None


@pytest.mark.parametrize(
    ("home", "place", "goes"),
    [
        (FAR, None, True),
        (FAR, f"{FAR}/x", True),
        (FAR, "s3://bucket/t/x", True),
        (FAR, "s3://bucket/tt", False),
        (FAR, "/data/x", False),
        (FAR, "{}/x", True),
        ("{}/t", f"{FAR}/x", False),
        ("{}/t", "{}/x", True),
        ("/data/t", "/data/t/x", True),
        ("/data/t", "/data/x", False),
    ],
)
def test_which_folders_go_with_their_table(tmp_path: Path, home: str, place: str | None, goes: bool) -> None:
    warehouse = str(tmp_path)
    one = HivePartition(1, "p=1", None if place is None else place.format(warehouse))
    assert drops_folder(one, table(home.format(warehouse)), warehouse) == goes


def test_one_function_refuses_them() -> None:
    with pytest.raises(UnsupportedError) as caught:
        local_path("S3A://bucket/t")
    assert caught.value.message == 'file system "s3a" of "S3A://bucket/t": only local files are supported'
    assert caught.value.sqlstate == "0A000"
    with pytest.raises(UnsupportedError) as caught:
        local_path("s3a://KEY:SECRET@bucket/t")
    assert caught.value.hint is not None
    assert "SECRET" not in str(caught.value)
    assert local_path("FILE:///a//b") == local_path("file:/a/b") == "/a/b"
