"""Listed folders whose files become rows of the log: each generation keeps its rows and its number."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base.errors import SourceError
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.listed_folders import log_listed_folders
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.values.types import INT, STRING, Field, Schema
from tests.examples import examples

SCHEMA = Schema((Field("a", INT), Field("d", STRING)))
NUMBERS = st.integers(0, 9)
NAMES = st.one_of(
    st.builds(lambda kind, number: f"{kind}_{number:07d}", st.sampled_from(["base", "delta"]), NUMBERS),
    st.builds(lambda ends: f"delta_{min(ends):07d}_{max(ends):07d}", st.tuples(NUMBERS, NUMBERS)),
    st.sampled_from(["plain", "a", "a.b", "p=1", "_hidden", ".hidden", "base_", "delta_x", "delta_1", "base_2_4"]),
)
FILES = st.sampled_from(["", "part-0", "b/part-1", "b.c", "_SUCCESS", ".part-0.crc"])


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path)) as catalog:
        yield catalog


def put(*places: object) -> None:
    for place in map(Path, map(str, places)):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(place.name)


def create(catalog: Catalog, location: object, kind: TableKind = TableKind.MANAGED, *, parts: bool = False) -> Table:
    """Create a table as a format without the log had it."""
    columns = ("d",) if parts else ()
    name = f"t{len(catalog.tables('default'))}"
    table = Table(new_table_id(), "default", name, kind, SCHEMA, location=str(location), partition_columns=columns)
    created = catalog.create_table(table)
    catalog.log.forget_below(str(location))
    return created


def upgrade(catalog: Catalog) -> None:
    with closing(sqlite3.connect(catalog.file_path)) as connection, connection:
        log_listed_folders(connection, catalog.locations)


def logged(catalog: Catalog, location: object) -> LoggedFolder | None:
    folder = table_folder(str(location), catalog)
    return folder if isinstance(folder, LoggedFolder) else None


def paths(catalog: Catalog, location: object, newest: int | None = None) -> list[str] | None:
    """Paths of a folder's files as the log has them; None for a listed folder."""
    folder = logged(catalog, location)
    return None if folder is None else [file.path.removeprefix(f"{location}/") for file in folder.files(lambda: newest)]


@given(st.dictionaries(NAMES, st.lists(FILES, min_size=1, unique=True), max_size=8), st.none() | NUMBERS)
@hypothesis.settings(max_examples=examples(300))
def test_each_generation_has_the_same_files(names: dict[str, list[str]], counted: int | None) -> None:
    with tempfile.TemporaryDirectory() as root, closing(Catalog(root)) as catalog:
        location = Path(root, "t")
        location.mkdir()
        for name, inner in names.items():
            put(*([location / name] if inner == [""] else (location / name / one for one in inner if one)))
        table = create(catalog, location)
        if counted is not None:
            catalog.streams.set_newest(table.table_id, counted)
        before = LocalFolder(str(location))
        numbers = range((10 if counted is None else counted) + 1)
        expected = [before.partition_files(number, "") for number in numbers]
        upgrade(catalog)
        folder = logged(catalog, location)
        assert folder is not None
        for number in numbers:
            assert folder.partition_files(number, "") == expected[number]
            for after in range(number):
                added = folder.deltas(after, number)
                assert added is None or expected[after] + added == expected[number]
        assert folder.files(lambda: None) == expected[-1]
        assert folder.newest() == (before.newest() if counted is None else counted)
        assert folder.newest() < catalog.log.commit(folder.folder_id, (), overwrite=False)


def test_tables_and_partitions_of_the_warehouse(catalog: Catalog, tmp_path: Path) -> None:
    home, outside = tmp_path / "p", tmp_path.parent / f"{tmp_path.name}-outside"
    table = create(catalog, home, parts=True)
    put(home / "d=1/delta_0000001/x", home / "d=1/delta_0000002/y", home / "d=2/delta_0000001/z", home / "d=2/plain")
    put(tmp_path / "away/delta_0000003/v", outside / "w", outside / "d=3/u", tmp_path / "given/x", outside / "own/s")
    with catalog.partition_changes(table) as changes:
        changes.add("d=1", newest=1)
        changes.add("d=2")
        changes.add("d=3", str(outside))
        changes.add("d=4", str(tmp_path / "away"), 3)
        changes.add("d=5", str(tmp_path / "away"), 2)
        changes.add("d=6", newest=4)
    create(catalog, outside / "own")
    create(catalog, tmp_path / "given", TableKind.EXTERNAL)
    upgrade(catalog)
    assert paths(catalog, home) == []
    assert paths(catalog, home / "d=1") == ["delta_0000001/x"]
    assert paths(catalog, home / "d=2") == ["plain", "delta_0000001/z"]
    assert (paths(catalog, tmp_path / "away", 2), paths(catalog, tmp_path / "away", 3)) == ([], ["delta_0000003/v"])
    assert paths(catalog, home / "d=6") == []
    listed = [outside, outside / "own", tmp_path / "given"]
    assert [paths(catalog, place) for place in listed] == [None] * 3
    before = catalog.log.find(str(home))
    upgrade(catalog)
    assert catalog.log.find(str(home)) == before


@pytest.mark.parametrize("is_continuous", [False, True])
def test_generations_that_were_never_counted(catalog: Catalog, tmp_path: Path, is_continuous: bool) -> None:
    location = tmp_path / "t"
    put(location / "plain", location / "delta_0000001/x", location / "delta_0000002/y")
    table = create(catalog, location)
    if is_continuous:
        text = table.table_id.join(['{"continuous": "', '"}'])
        sql = "UPDATE table_ SET definition = json_patch(definition, ?)"
        with closing(sqlite3.connect(catalog.file_path)) as connection, connection:
            connection.execute(sql, (text,))
    else:
        catalog.streams.set_newest(table.table_id, 1)
    upgrade(catalog)
    assert paths(catalog, location) == ["plain", "delta_0000001/x"][: 1 if is_continuous else 2]
    folder = logged(catalog, location)
    assert folder is not None
    folder.remove_hidden(1)
    assert sorted(os.listdir(location)) == ["delta_0000001", "plain"][is_continuous:]


def test_folders_that_stay_listed(catalog: Catalog, tmp_path: Path) -> None:
    put(tmp_path / "file", tmp_path / "outer/x", tmp_path / "outer/inner/y", tmp_path / f"large/delta_{1 << 70}")
    for name in ("pipe", "dangling", "bytes"):
        put(tmp_path / name / "x")
    os.mkfifo(tmp_path / "pipe/y")
    (tmp_path / "dangling/y").symlink_to(tmp_path / "nothing")
    Path(os.fsdecode(os.fsencode(tmp_path / "bytes") + b"/\xff")).touch()
    names = ("file", "outer", "large", "pipe", "dangling", "bytes")
    for name in (*names, "outer/inner", "none"):
        create(catalog, tmp_path / name)
    create(catalog, tmp_path)
    upgrade(catalog)
    assert [paths(catalog, tmp_path / name) for name in names] == [None] * 6
    assert paths(catalog, tmp_path) is None
    assert paths(catalog, tmp_path / "outer/inner") == ["y"]
    assert paths(catalog, tmp_path / "none") == []


def test_lake_tables_stay_as_they_are(catalog: Catalog, tmp_path: Path) -> None:
    location = str(tmp_path / "t")
    put(tmp_path / "t/data/x")
    lake = Table(new_table_id(), "default", "t", TableKind.MANAGED, SCHEMA, StorageFormat("iceberg"), location)
    catalog.create_table(lake)
    upgrade(catalog)
    assert paths(catalog, location) is None


def test_a_folder_that_cannot_be_read(catalog: Catalog, tmp_path: Path) -> None:
    """A link to itself cannot be followed, by root either."""
    create(catalog, tmp_path / "t")
    (tmp_path / "t").symlink_to(tmp_path / "t")
    with pytest.raises(SourceError, match=f'the folder "{tmp_path}/t" of a table cannot be read: ') as caught:
        upgrade(catalog)
    assert caught.value.sqlstate == "58030"


def test_links_are_followed_but_only_links_are_removed(catalog: Catalog, tmp_path: Path) -> None:
    location, theirs = tmp_path / "t", tmp_path.parent / f"{tmp_path.name}-theirs"
    put(location / "a/b/x", theirs / "in/y", theirs / "z")
    (location / "l").symlink_to(theirs / "in")
    (location / "z").symlink_to(theirs / "z")
    create(catalog, location)
    upgrade(catalog)
    assert paths(catalog, location) == ["a/b/x", "l/y", "z"]
    folder = logged(catalog, location)
    assert folder is not None
    catalog.log.commit(folder.folder_id, (), overwrite=True)
    folder.remove_hidden()
    assert (os.listdir(location), sorted(os.listdir(theirs))) == ([], ["in", "z"])
    assert os.listdir(theirs / "in") == ["y"]


def test_numbers_follow_the_largest_one(catalog: Catalog, tmp_path: Path) -> None:
    put(tmp_path / "a/delta_0000007/x")
    put(tmp_path / "b/delta_0000003/x")
    for name in "ab":
        create(catalog, tmp_path / name)
    upgrade(catalog)
    numbers = []
    for name in "ba":
        folder = logged(catalog, tmp_path / name)
        assert folder is not None
        numbers.append(catalog.log.commit(folder.folder_id, (), overwrite=False))
    assert numbers == [8, 9]


def test_generations_are_folded_with_later_commits(catalog: Catalog, tmp_path: Path) -> None:
    location = tmp_path / "t"
    put(location / "plain", location / "delta_0000001/x", location / "delta_0000002/y")
    create(catalog, location)
    upgrade(catalog)
    folder = logged(catalog, location)
    assert folder is not None

    def staged(name: str) -> str:
        staging = folder.make_staging(folder.new_staging())
        put(f"{staging}/{name}")
        return staging

    placed = folder.place(staged("z"), overwrite=False)
    assert placed is not None
    known = folder.visible()
    assert [(one.first, one.last, one.is_delta) for one, _ in known] == [
        (0, 0, False),
        (1, 1, True),
        (2, 2, True),
        (3, 3, True),
    ]
    assert folder.place_fold(staged("xyz"), known[1:], None) is not None
    folder.remove_hidden(placed.number)
    assert [Path(file.path).name for file in folder.files()] == ["plain", "xyz"]
    assert sorted(os.listdir(location)) == ["_files", "plain"]
