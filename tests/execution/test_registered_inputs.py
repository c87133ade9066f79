"""Inputs of a query: relations that a query reads by name while they are registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sharkpy.execution.tasks.inputs import BatchStream, registered_inputs

ONE, OTHER = pa.table({"a": [1, 2]}), pa.table({"a": [3]})


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def rows(connection: duckdb.DuckDBPyConnection, sql: str, relation: list[Any]) -> list[tuple[Any, ...]]:
    with registered_inputs(connection, {"in0": relation, "in1": [OTHER]}) as reading:
        return connection.execute(reading(sql)).fetchall()


def test_names_of_relations_are_read_and_texts_are_not(connection: duckdb.DuckDBPyConnection) -> None:
    sql = """SELECT a, 'it''s in0' AS "in0", 'in1' FROM in0 UNION ALL SELECT a, 'in10', '"' FROM in1 ORDER BY a"""
    assert rows(connection, sql, [ONE]) == [(1, "it's in0", "in1"), (2, "it's in0", "in1"), (3, "in10", '"')]


def test_a_relation_may_have_parts(connection: duckdb.DuckDBPyConnection) -> None:
    parts = [ONE, pa.table({"a": pa.array([7], pa.int32())})]
    sql = "SELECT sum(one.a), count(*) FROM in0 AS one JOIN in0 AS other ON one.a = other.a"
    assert rows(connection, sql, parts) == [(10, 3)]


def test_two_connections_have_their_own_relations(connection: duckdb.DuckDBPyConnection) -> None:
    with (
        connection.cursor() as other,
        registered_inputs(connection, {"in0": [ONE]}) as reading,
        registered_inputs(other, {"in0": [OTHER]}) as other_reading,
    ):
        assert connection.execute(reading("FROM in0")).fetchall() == [(1,), (2,)]
        assert other.execute(other_reading("FROM in0")).fetchall() == [(3,)]


def test_the_error_of_a_stream_is_raised(connection: duckdb.DuckDBPyConnection) -> None:
    def fail() -> Iterator[pa.RecordBatch]:
        yield from ONE.to_batches()
        raise OSError("the file is gone")

    with pytest.raises(OSError, match=r"^the file is gone$"):
        rows(connection, "SELECT sum(a) FROM in0", [BatchStream(ONE.schema, fail)])


def test_nothing_is_registered_afterwards(connection: duckdb.DuckDBPyConnection) -> None:
    with registered_inputs(connection, {"in0": [ONE]}) as reading:
        sql = reading("FROM in0")
        connection.execute(sql)
    with pytest.raises(duckdb.InvalidInputException, match="released"):
        connection.execute(sql)
