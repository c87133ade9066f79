"""A query whose trigger ends is bound once for many RESUMEs, and again when what it depends on has changed."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.plan.commands import Insert
from sharkpy.streaming import epoch_input
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put_numbers


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    context.sql("CREATE TABLE names (k INT, name STRING)")
    context.sql("INSERT INTO names VALUES (0, 'a'), (1, 'b')")
    return context


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Any]]:
    """Commands that were bound."""
    found = list[weakref.ref[Any]]()
    bind = epoch_input.bind_epoch

    def noted(*arguments: Any) -> Any:
        command = bind(*arguments)
        assert isinstance(command, Insert)
        found.append(weakref.ref(command.query))
        return command

    monkeypatch.setattr(epoch_input, "bind_epoch", noted)
    return found


def make(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, name FROM numbers JOIN names ON n % 2 = names.k")


def read(context: sharkpy.SharkContext, folder: Path, number: int) -> None:
    put_numbers(folder, f"{number:03}.json", [number])
    context.sql("RESUME CONTINUOUS TABLE t")


def test_many_resumes(context: sharkpy.SharkContext, folder: Path, bound: list[weakref.ref[Any]]) -> None:
    make(context)
    for number in range(4):
        read(context, folder, number)
    assert rows(context, "SELECT * FROM t ORDER BY n") == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
    assert len(bound) == 1


def test_a_table_that_is_another_one(
    context: sharkpy.SharkContext, folder: Path, bound: list[weakref.ref[Any]]
) -> None:
    make(context)
    read(context, folder, 0)
    context.sql("DROP TABLE names")
    context.sql("CREATE TABLE names (name STRING, k BIGINT)")
    context.sql("INSERT INTO names VALUES ('other', 1)")
    read(context, folder, 1)
    read(context, folder, 3)
    assert rows(context, "SELECT * FROM t ORDER BY n") == [(0, "a"), (1, "other"), (3, "other")]
    assert len(bound) == 2


def test_a_definition_that_is_another_one(
    context: sharkpy.SharkContext, folder: Path, bound: list[weakref.ref[Any]]
) -> None:
    make(context)
    read(context, folder, 0)
    context.sql("ALTER CONTINUOUS TABLE t AS SELECT n, concat(name, '!') AS name FROM numbers JOIN names ON n % 2 = k")
    read(context, folder, 1)
    assert rows(context, "SELECT * FROM t ORDER BY n") == [(0, "a"), (1, "b!")]
    assert len(bound) == 2


def test_nothing_is_kept_of_what_was_dropped(
    context: sharkpy.SharkContext, folder: Path, bound: list[weakref.ref[Any]]
) -> None:
    make(context)
    read(context, folder, 0)
    gc.collect()
    assert bound[0]() is not None
    context.sql("DROP CONTINUOUS TABLE t")
    gc.collect()
    assert bound[0]() is None
