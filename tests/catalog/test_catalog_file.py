"""The catalog's file: transactions, and reads at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sharkpy.catalog.catalog import Catalog

READ = "SELECT count(*) FROM garbage"
ADD = "INSERT INTO garbage VALUES (?)"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    catalog = Catalog(tmp_path / "w")
    yield catalog
    catalog.close()


def test_reads_do_not_wait_for_a_transaction(catalog: Catalog) -> None:
    file = catalog._file
    with ThreadPoolExecutor(1) as pool:
        with catalog.transaction():
            file.run(ADD, "a")
            assert file.row(READ) == (1,)
            assert pool.submit(file.row, READ).result(timeout=10) == (0,)
            with file.reading():
                assert file.rows(READ) == [(1,)]
        assert pool.submit(file.row, READ).result(timeout=10) == (1,)


def test_names_are_found_beside_a_transaction(catalog: Catalog) -> None:
    def look() -> tuple[object, ...]:
        return catalog.find_table("default", "t"), catalog.table_names("default"), catalog.tables("default")

    with ThreadPoolExecutor(1) as pool, catalog.transaction():
        assert pool.submit(look).result(timeout=10) == (None, [], [])


def test_a_transaction_does_not_wait_for_reads_of_one_moment(catalog: Catalog) -> None:
    file = catalog._file
    with ThreadPoolExecutor(1) as pool, file.reading():
        assert file.row(READ) == (0,)
        assert pool.submit(file.run, ADD, "a").result(timeout=10) == 1
        assert file.row(READ) == (0,)
        with file.reading():
            assert file.row(READ) == (0,)
    assert file.row(READ) == (1,)


def test_what_was_rolled_back_is_read_by_nobody(catalog: Catalog) -> None:
    file = catalog._file

    def change() -> None:
        with catalog.transaction():
            file.run(ADD, "a")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        change()
    assert file.row(READ) == (0,)


def test_threads_that_change_and_read(catalog: Catalog) -> None:
    file, seen = catalog._file, list[int]()
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            seen.append(file.row(READ)[0])

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for number in range(50):
            with catalog.transaction():
                file.run(ADD, f"a{number}")
                file.run(ADD, f"b{number}")
        ended.set()
        for reader in readers:
            reader.result()
    assert file.row(READ) == (100,)
    assert all(number % 2 == 0 for number in seen)
