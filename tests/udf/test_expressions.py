"""Expressions lowered through the registry and run by DuckDB give Hive's answers, in the types the rows state."""

from __future__ import annotations

import math

import duckdb
import pytest

from sharkpy.udf import registry
from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import Failure
from tests.udf.expressions import CASES
from tests.udf.hive_expression import lower


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, other, rel_tol=1e-14)
    return one == other and type(one) is type(other)


@pytest.mark.variants(3)
@pytest.mark.parametrize(("text", "expected", "_reason"), CASES, ids=[case[0] for case in CASES])
def test_answer(connection: duckdb.DuckDBPyConnection, text: str, expected: object, _reason: str) -> None:
    lowered = lower(text)
    relation = connection.sql(f"SELECT {lowered.sql} AS answer")
    answer = relation.fetchall()[0][0]
    assert same(answer, expected), (answer, lowered.sql)
    if str(lowered.dtype) != "void":
        wanted = connection.sql(f"SELECT CAST(NULL AS {duckdb_type(lowered.dtype)})").types[0]
        assert str(relation.types[0]) == str(wanted)


_EXAMPLES = [
    row.example
    for row in registry._SCALARS.values()
    if not any(
        text in row.example for text in ("->", "INTERVAL (", "IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE")
    )
    and not isinstance(row.answer, Failure)
]
"""Examples that the reader here knows; test_examples runs all, as queries."""


@pytest.mark.variants(3)
@pytest.mark.parametrize("text", _EXAMPLES)
def test_example(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    lowered = lower(text)
    relation = connection.sql(f"SELECT {lowered.sql} AS answer")
    relation.fetchall()
    wanted = connection.sql(f"SELECT CAST(NULL AS {duckdb_type(lowered.dtype)})").types[0]
    assert str(relation.types[0]) == str(wanted)
