"""Helpers of the tests of lake tables: sessions, rows, and Iceberg's own tables."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import sharkpy
from tests.rows import rows


def run(context: sharkpy.SharkContext, *statements: str) -> None:
    for one in statements:
        context.sql(one)


def check_writers_meet(context: sharkpy.SharkContext, table: str, writers: int, each: int) -> None:
    """Several sessions add rows to a table (writer INT, number INT) of Iceberg, a snapshot each, and none is lost."""
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            session = context.new_session()
            for number in range(each):
                session.sql(f"INSERT INTO {table} VALUES ({writer}, {number})")
            session.stop()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = [(writer, number) for writer in range(writers) for number in range(each)]
    assert rows(context, f"SELECT * FROM {table} ORDER BY writer, number") == expected
    assert rows(context, f"SELECT count(*) FROM {table}.snapshots") == [(writers * each,)]


def own_catalog(context: sharkpy.SharkContext) -> Any:
    """The warehouse's catalog of Iceberg, as another program opens it."""
    from pyiceberg.catalog import load_catalog

    place = Path(context.catalog.state_dir, "iceberg.sqlite")
    return load_catalog(
        "default", type="sql", uri=f"sqlite:///{place}", warehouse=f"file://{context.catalog.warehouse_dir}"
    )


def as_tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def places(found: Iterable[Path]) -> list[str]:
    return sorted(one.name for one in found)
