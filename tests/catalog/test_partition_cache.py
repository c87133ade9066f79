"""Hive partitions in memory: what changes of several processes and transactions leave, and earlier versions."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.catalog.partition_cache import read_partitions
from sharkpy.catalog.partition_list import PartitionList
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.catalog.table_store import PartitionChanges
from sharkpy.values.types import INT, STRING, Field, Schema
from tests.examples import examples

SCHEMA = Schema((Field("a", INT), Field("p", STRING)))
_NAMES = st.sampled_from([f"p={value}" for value in ("b", "c%2F", "é")])
_CHANGES = st.tuples(st.sampled_from(["add", "drop", "rename", "write", "place", "format"]), _NAMES, _NAMES)
_STATEMENTS = st.lists(
    st.tuples(st.integers(0, 1), st.lists(_CHANGES, max_size=4), st.booleans(), st.booleans()), max_size=12
)


class Rolled(Exception):
    """Rolls a transaction back."""


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "w")) as catalog:
        yield catalog


def new_table(catalog: Catalog, name: str = "t") -> Table:
    location = f"{catalog.warehouse_dir}/{name}"
    table = Table(new_table_id(), "default", name, TableKind.MANAGED, SCHEMA, location=location)
    return catalog.create_table(dataclasses.replace(table, partition_columns=("p",)))


@hypothesis.settings(max_examples=examples(150), deadline=None)
@given(statements=_STATEMENTS)
def test_changes_of_two_processes(statements: list[tuple[int, list[tuple[str, str, str]], bool, bool]]) -> None:
    """Each of them sees all committed changes, and its own ones in a transaction; so do readers of earlier versions."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        catalogs = [stack.enter_context(closing(Catalog(Path(folder, "w")))) for _ in range(2)]
        table = new_table(catalogs[0])
        versions: dict[int, list[HivePartition]] = {}
        for who, wanted, is_rolled, looks in statements:
            catalog = catalogs[who]
            try:
                with catalog.partition_changes(table) as changes:
                    for what, name, other in wanted:
                        _change(catalog, table, changes, what, name, other)
                    assert catalog.partitions(table) == tuple(sorted(changes.known.values(), key=lambda one: one.name))
                    if is_rolled:
                        raise Rolled
                version = catalog.history.last_before(1 << 60)
                versions[version] = list(_all(catalog, table))
            except Rolled:
                pass
            if looks:
                _check(catalogs, table)
        _check(catalogs, table)
        for version, found in versions.items():
            for catalog in catalogs:
                then = catalog.at(table, VersionPoint(version))
                expected = [dataclasses.replace(one, newest=version, location=None) for one in found]
                partitions = catalog.partitions(then)
                assert [dataclasses.replace(one, location=None) for one in partitions] == expected
                assert [one.folder(table) for one in partitions] == [one.folder(table) for one in found]
                assert all(partitions.find(one.name) == one for one in partitions)


def _change(catalog: Catalog, table: Table, changes: PartitionChanges, what: str, name: str, other: str) -> None:
    one = changes.known.get(name)
    if one is None:
        if what == "add":
            catalog.log_new_partition(table, f"{table.location}/{name}")
            changes.add(name, newest=0)
        return
    match what:
        case "drop":
            changes.drop([one], with_data=False)
        case "rename" if other not in changes.known:
            changes.alter(one, dataclasses.replace(one, name=other))
        case "write":
            changes.alter(one, dataclasses.replace(one, newest=(one.newest or 0) + 1))
        case "place":
            changes.alter(one, dataclasses.replace(one, location=f"{table.location}/other/{name}"))
        case "format":
            changes.alter(one, dataclasses.replace(one, storage=StorageFormat("orc")))


def _all(catalog: Catalog, table: Table) -> PartitionList:
    return read_partitions(catalog._file, table.table_id)


def _check(catalogs: list[Catalog], table: Table) -> None:
    for catalog in catalogs:
        found, expected = catalog.partitions(table), _all(catalog, table)
        assert found == expected
        assert found.names.texts == expected.names.texts
        assert sorted(found.formed, key=lambda one: one.name) == list(expected.formed)
        assert [found.find(one.name) for one in expected] == list(expected)
        assert found.find("p=none") is None
        assert catalog.partitions(table) is found


def test_only_changes_are_read(catalog: Catalog) -> None:
    table = new_table(catalog)
    with catalog.partition_changes(table) as changes:
        for number in range(100):
            changes.add(f"p={number:03d}")
    before = catalog.partitions(table)
    with catalog.partition_changes(table) as changes:
        changes.alter(changes.known["p=007"], dataclasses.replace(changes.known["p=007"], newest=3))
    read: list[str] = []
    catalog._file._reading.set_trace_callback(read.append)
    after = catalog.partitions(table)
    catalog._file._reading.set_trace_callback(None)
    assert any("changed > " in text for text in read)
    assert after.names is before.names
    assert [one.name for one, other in zip(after, before, strict=True) if one is not other] == ["p=007"]


def test_formats_of_their_own(catalog: Catalog) -> None:
    table, formed = new_table(catalog), list[list[HivePartition]]()
    for changed in ({}, {"storage": StorageFormat("orc")}, {"newest": 2}, {"columns": SCHEMA, "storage": None}):
        with catalog.partition_changes(table) as changes:
            one = changes.known.get("p=a") or changes.add("p=a", newest=1)
            changes.alter(one, dataclasses.replace(one, **changed))
        formed.append(list(catalog.partitions(table).formed))
    assert [[(one.newest, one.storage, one.columns) for one in found] for found in formed] == [
        [],
        [(1, StorageFormat("orc"), None)],
        [(2, StorageFormat("orc"), None)],
        [(2, None, SCHEMA)],
    ]


def test_a_transaction_that_is_rolled_back(catalog: Catalog) -> None:
    """The next transaction has the same number."""
    table = new_table(catalog)
    with suppress(Rolled), catalog.partition_changes(table) as changes:
        changes.add("p=lost")
        assert [one.name for one in catalog.partitions(table)] == ["p=lost"]
        raise Rolled
    with closing(Catalog(catalog.warehouse_dir)) as other, other.partition_changes(table) as changes:
        changes.add("p=kept")
    assert [one.name for one in catalog.partitions(table)] == ["p=kept"]


def test_an_index_of_names_grows_with_them() -> None:
    """The index is not made again for each new name, and serves lists that were read before."""
    calls: list[list[str]] = []

    def add(index: set[str], names: Sequence[str]) -> None:
        calls.append(list(names))
        index.update(names)

    before = PartitionList([HivePartition(1, "p=b"), HivePartition(2, "p=d")])
    index = before.names.indexed("key", set[str], add)
    after = before.with_changes([HivePartition(3, "p=e"), HivePartition(4, "p=a")])
    later = after.with_changes([HivePartition(5, "p=c")])
    assert later.names.texts == ("p=a", "p=b", "p=c", "p=d", "p=e")
    assert later.names.indexed("key", set[str], add) is index
    assert later.names.indexed("key", set[str], add) == set(later.names.texts)
    assert calls == [["p=b", "p=d"], ["p=a", "p=e", "p=c"]]
    assert before.names.indexed("key", set[str], add) is index
    assert before.find("p=e") is None


def test_the_cache_is_bounded(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.catalog.partition_cache._MOST_PARTITIONS", 3)
    tables = []
    for number in range(3):
        one = new_table(catalog, f"t{number}")
        with catalog.partition_changes(one) as changes:
            changes.add("p=a")
            changes.add("p=b")
        tables.append(one)
    assert [len(catalog.partitions(one)) for one in tables] == [2, 2, 2]
    cache = catalog._store.partition_cache  # type: ignore[attr-defined]
    assert list(cache._known) == [tables[2].table_id]
    assert cache._size == 2
    catalog.drop_table(tables[2], is_purged=True)
    assert (list(cache._known), cache._size) == ([], 0)
