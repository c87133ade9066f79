"""Folders of other tables: lookups by the index of locations, with links and remote places."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base.uri import parent
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.folder_index import is_below, real_place
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.values.types import INT, STRING, Field, Schema

SCHEMA = Schema((Field("a", INT), Field("p", STRING)))
_NAMES = st.sampled_from(["a", "b", "t", "t.db", "a:", "é"])
_BELOW = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_HOMES = st.sampled_from(
    ["{w}", "{root}/out", "{root}/link", "{w}/link", "s3a://b", "S3://b/x", "hdfs://h:8020", "file:{w}"]
)
_PLACES = st.tuples(_HOMES, _BELOW).map("/".join)


def table(location: str, name: str, kind: TableKind = TableKind.MANAGED) -> Table:
    return Table(new_table_id(), "default", name, kind, SCHEMA, location=location, partition_columns=("p",))


@given(
    locations=st.lists(st.tuples(_PLACES, st.booleans()), min_size=1, max_size=6),
    placed=st.lists(_PLACES, max_size=3),
    databases=st.lists(_PLACES, max_size=2),
    links=st.lists(st.tuples(_PLACES, _PLACES), max_size=3),
    searched=st.lists(_PLACES, min_size=1, max_size=4),
)
def test_an_index_finds_what_a_look_at_all_finds(
    locations: list[tuple[str, bool]],
    placed: list[str],
    databases: list[str],
    links: list[tuple[str, str]],
    searched: list[str],
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        for name in ("w", "out"):
            (root / name).mkdir()
        (root / "link").symlink_to(root / "w")
        (root / "w" / "link").symlink_to(root / "out")
        names = {"root": root, "w": root / "w"}

        def path(text: str) -> str:
            return text.format(**names)

        with closing(Catalog(root / "w")) as catalog:
            tables = []
            for number, (place, is_owned) in enumerate(locations):
                kind = TableKind.MANAGED if is_owned else TableKind.EXTERNAL
                tables.append(catalog.create_table(table(path(place), f"t{number}", kind)))
            for number, place in enumerate(databases):
                catalog.create_database(f"d{number}", location=path(place))
            with catalog.partition_changes(tables[0]) as changes:
                for number, place in enumerate(placed):
                    changes.add(f"p={number}", path(place))
            for place, target in links:
                _link(path(place), path(target))
            for place in map(path, searched):
                _compare(catalog, place)
    finally:
        shutil.rmtree(root)


def _link(place: str, target: str) -> None:
    """Make a link to a folder, unless one of the two cannot be one."""
    if not (place.startswith("/") and target.startswith("/")) or os.path.lexists(place):
        return
    try:
        Path(target).mkdir(parents=True, exist_ok=True)
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).symlink_to(target)
    except OSError:
        return


def _compare(catalog: Catalog, searched: str) -> None:
    place = real_place(searched)
    owners = [(catalog.database(name).location, "", True) for name in catalog.database_names()]
    for one in catalog.tables("default"):
        is_owned = one.kind is TableKind.MANAGED
        owners.append((one.location or "", one.table_id, is_owned))
        owners += [(part.location, one.table_id, is_owned) for part in catalog.partitions(one) if part.location]
    real = [(real_place(location), table_id, is_owned) for location, table_id, is_owned in owners]
    inside = {one for one in real if is_below(one[0], place) and (one[0] != place or one[2])}
    above = {one for one in real if is_below(place, one[0]) and one[1] and one[2]}
    found, owner = TableFolders(catalog).folder_inside(searched), TableFolders(catalog).owner_at(searched)
    assert (found is not None) == bool(inside)
    assert found is None or (found.place, found.table_id, found.is_owned) in inside
    assert (owner is not None) == bool(above)
    assert owner is None or owner.place == max(above)[0]


def test_a_folder_that_became_a_link(tmp_path: Path) -> None:
    """Its table's files are elsewhere in the warehouse from then on."""
    with closing(Catalog(tmp_path / "w")) as catalog:
        moved = catalog.create_table(table(f"{tmp_path}/w/moved", "moved"))
        (tmp_path / "w" / "big" / "x").mkdir(parents=True)
        folders = TableFolders(catalog)
        assert folders.folder_inside(f"{tmp_path}/w/big") is None
        (tmp_path / "w" / "moved").symlink_to(tmp_path / "w" / "big" / "x")
        found = TableFolders(catalog).folder_inside(f"{tmp_path}/w/big")
        assert found is not None
        assert found.table_id == moved.table_id


def test_no_lookup_reads_all_tables(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path / "w")) as catalog:
        for number in range(3):
            one = catalog.create_table(table(f"{tmp_path}/w/t{number}", f"t{number}"))
            with catalog.partition_changes(one) as changes:
                changes.add("p=1", f"{tmp_path}/out/{number}")
        ran: list[str] = []
        reader = catalog._file._reading
        reader.set_trace_callback(ran.append)
        TableFolders(catalog).folder_inside(f"{tmp_path}/w/t1")
        reader.set_trace_callback(None)
        plans = [row[3] for text in ran if "SELECT" in text for row in reader.execute(f"EXPLAIN QUERY PLAN {text}")]
        scans = [plan for plan in plans if plan.startswith("SCAN ") and "VIRTUAL TABLE" not in plan]
        assert set(scans) <= {"SCAN parents", "SCAN CONSTANT ROW"}
        assert any("table_place" in plan for plan in plans)


@pytest.mark.parametrize("name", ["", "/", "/x"])
def test_a_place_in_a_bucket(tmp_path: Path, name: str) -> None:
    with closing(Catalog(tmp_path / "w")) as catalog:
        catalog.create_table(table("s3://bucket", "whole"))
        assert TableFolders(catalog).owner_at(f"s3a://bucket{name}") is not None
        assert TableFolders(catalog).owner_at(f"s3a://bucket2{name}") is None
        assert parent("s3://bucket") == "s3://bucket"
