"""History of tables: which versions are retained, and what the catalog tells about each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from sharkpy.base.errors import BindError, ConfigurationError
from sharkpy.base.settings import Conf, duration_seconds
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.file_log import LoggedFile
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.table_history import Retention, VersionPoint
from sharkpy.values.types import INT, Field, Schema

DAYS = 86_400.0


def retain(catalog: Catalog, retention: Retention) -> None:
    catalog.surroundings.retention = Mock(return_value=retention)  # type: ignore[method-assign]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path)) as catalog:
        retain(catalog, Retention(7 * DAYS, 1000, 14 * DAYS))
        yield catalog


@pytest.fixture
def table(catalog: Catalog) -> Table:
    schema = Schema((Field("a", INT),))
    location = catalog.managed_location("default", "t")
    return catalog.create_table(Table(new_table_id(), "default", "t", TableKind.MANAGED, schema, location=location))


def write(catalog: Catalog, table: Table, name: str, rows: int | None = 1, *, overwrite: bool = False) -> int:
    folder = catalog.log.find(table.location or "")
    assert folder is not None
    return catalog.log.commit(folder, [LoggedFile(name, 1, 2, rows)], overwrite=overwrite)


def versions(catalog: Catalog, table: Table) -> list[int]:
    return [one.version for one in catalog.history.changes(table.table_id)]


def set_age(catalog: Catalog, version: int, days: float) -> None:
    """Make a commit and all before it older."""
    catalog._file.run("UPDATE commit_ SET time_ms = time_ms - ? WHERE commit_id <= ?", int(days * DAYS * 1000), version)


def test_each_commit_is_a_version(catalog: Catalog, table: Table) -> None:
    write(catalog, table, "a", 3)
    write(catalog, table, "b", 4)
    last = write(catalog, table, "c", 5, overwrite=True)
    found = catalog.history.changes(table.table_id)
    counts = [(one.files_added, one.files_removed, one.rows_added, one.rows_removed) for one in found]
    assert counts == [(1, 2, 5, 7), (1, 0, 4, 0), (1, 0, 3, 0), (0, 0, 0, 0)]
    assert catalog.history.wanted(table.table_id, "t", VersionPoint(last)) == last
    for number in (0, last + 1):
        with pytest.raises(BindError, match=f"version {number} of t is not available") as caught:
            catalog.history.wanted(table.table_id, "t", VersionPoint(number))
        assert caught.value.sqlstate == "22023"


def test_counts_of_rows_are_none_if_one_is_unknown(catalog: Catalog, table: Table) -> None:
    write(catalog, table, "a", None)
    write(catalog, table, "b", 4, overwrite=True)
    [second, first, _] = catalog.history.changes(table.table_id)
    assert (first.rows_added, second.rows_added, second.rows_removed) == (None, 4, None)


def test_a_failed_transaction_is_no_version(catalog: Catalog, table: Table) -> None:
    before = versions(catalog, table)
    with suppress(ZeroDivisionError), catalog.transaction():
        write(catalog, table, "a")
        raise ZeroDivisionError
    assert versions(catalog, table) == before
    number = write(catalog, table, "a")
    assert versions(catalog, table) == [number, *before]


def test_several_writes_of_a_transaction_are_one_version(catalog: Catalog, table: Table) -> None:
    with catalog.transaction():
        assert write(catalog, table, "a", 2) == write(catalog, table, "b", 3)
    newest = catalog.history.changes(table.table_id)[0]
    assert (newest.files_added, newest.rows_added) == (2, 5)


def test_a_moment_is_the_last_version_before_it(catalog: Catalog, table: Table) -> None:
    numbers = [write(catalog, table, name) for name in "abc"]
    set_age(catalog, numbers[1], 1)
    times = {one.version: one.time_ms for one in catalog.history.changes(table.table_id)}
    moments = (times[numbers[1]], times[numbers[2]] - 1, times[numbers[2]], times[numbers[2]] + 10_000_000)
    found = [catalog.history.wanted(table.table_id, "t", VersionPoint(moment_ms=one)) for one in moments]
    assert found == [numbers[1], numbers[1], numbers[2], numbers[2]]
    with pytest.raises(BindError, match="is not available"):
        catalog.history.wanted(table.table_id, "t", VersionPoint(moment_ms=times[numbers[0]] - 10_000_000))


def test_a_clock_that_is_set_back_does_not_change_the_order(catalog: Catalog, table: Table) -> None:
    first = write(catalog, table, "a")
    catalog._file.run("UPDATE commit_ SET time_ms = time_ms + 3600000 WHERE commit_id = ?", first)
    second = write(catalog, table, "b")
    times = {one.version: one.time_ms for one in catalog.history.changes(table.table_id)}
    assert times[second] >= times[first]


def test_versions_expire_by_time(catalog: Catalog, table: Table) -> None:
    """The version at the begin of the retention is available: it is the oldest one that a moment may name."""
    numbers = [write(catalog, table, name, overwrite=True) for name in "abcd"]
    set_age(catalog, numbers[1], 8)
    assert catalog.forget_expired(table) == numbers[1]
    assert versions(catalog, table) == numbers[:0:-1]
    folder = catalog.log.find(table.location or "")
    assert folder is not None
    assert catalog.log.removed(folder, numbers[1]) == {f"{catalog.warehouse_dir}/a"}
    with pytest.raises(BindError):
        catalog.history.wanted(table.table_id, "t", VersionPoint(numbers[0]))


def test_versions_expire_by_number(catalog: Catalog, table: Table) -> None:
    retain(catalog, Retention(7 * DAYS, 2))
    numbers = [write(catalog, table, name, overwrite=True) for name in "abcd"]
    assert catalog.forget_expired(table) == numbers[2]
    assert versions(catalog, table) == [numbers[3], numbers[2]]


def test_no_retention_leaves_the_current_version(catalog: Catalog, table: Table) -> None:
    retain(catalog, Retention())
    numbers = [write(catalog, table, name, overwrite=True) for name in "ab"]
    catalog.forget_expired(table)
    assert versions(catalog, table) == [numbers[1]]


def test_commits_without_a_version_are_forgotten(catalog: Catalog, table: Table) -> None:
    numbers = [write(catalog, table, name, overwrite=True) for name in "ab"]
    set_age(catalog, numbers[1], 8)
    catalog.forget_expired(table)
    catalog.history.forget_commits(1 << 62)
    assert catalog._file.rows("SELECT commit_id FROM commit_") == [(numbers[1],)]
    assert write(catalog, table, "c") > numbers[1]


def test_the_retention_of_a_table(table: Table) -> None:
    conf = Conf()
    assert Retention.of(table, conf) == Retention(7 * DAYS, 1000, 14 * DAYS)
    conf.set("shark.table.retention", "36 hours")
    conf.set("shark.table.retention.versions", "5")
    conf.set("shark.table.retention.unread", "2 days")
    assert Retention.of(table, conf) == Retention(1.5 * DAYS, 5, 2 * DAYS)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("7 days", 7 * DAYS), ("1 Day", DAYS), ("90minutes", 5400), ("0.5 hours", 1800), ("2 weeks", 14 * DAYS)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "-1 days", "days", "7 years", "1 day 2 hours"])
def test_texts_that_are_no_durations(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        duration_seconds(text)
    assert caught.value.sqlstate == "22023"
