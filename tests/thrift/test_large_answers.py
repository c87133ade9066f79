"""Answers of many bytes: they are cut into pieces that clients take, and no row is lost."""

from __future__ import annotations

import pytest

from sharkpy.thrift import calls, row_stream
from tests.thrift.caller import Caller, columns_of
from tests.thrift.conftest import Serve

ROWS = 20_000
QUERIES = {
    "texts": (f"SELECT n, s FROM numbers WHERE n < {ROWS}", [list(range(ROWS)), [f"row {n}" for n in range(ROWS)]]),
    "one byte for each bit": (
        f"SELECT n < 0, n FROM numbers WHERE n < {ROWS}",
        [[False] * ROWS, list(range(ROWS))],
    ),
    "long names for each row": (
        f"SELECT named_struct('{'a' * 50}', cast(n % 5 AS TINYINT)), n FROM numbers WHERE n < {ROWS}",
        [[f'{{"{"a" * 50}":{n % 5}}}' for n in range(ROWS)], list(range(ROWS))],
    ),
}


@pytest.fixture(autouse=True)
def small_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_ANSWER_BYTES", 100_000)
    monkeypatch.setattr(row_stream, "TAKEN_BYTES", 75_000)


@pytest.mark.parametrize("name", QUERIES)
def test_all_rows_come_in_pieces(serve: Serve, name: str) -> None:
    text, expected = QUERIES[name]
    with Caller(serve().port) as caller:
        operation = caller.begin(text)
        for is_again in (False, True):
            found: list[list[object]] = [[] for _ in expected]
            has_more = True
            while has_more:
                fetched = caller.fetch(operation, ROWS, from_start=is_again and not found[0])
                assert fetched.results.startRowOffset == len(found[0])
                columns = columns_of(fetched)
                assert len(str(columns)) < 1_000_000
                assert columns[0]
                for column, more in zip(found, columns, strict=True):
                    column += more
                has_more = fetched.hasMoreRows
            assert found == expected


def test_fewer_rows_are_asked_for_than_were_left(serve: Serve) -> None:
    text, expected = QUERIES["long names for each row"]
    with Caller(serve().port) as caller:
        operation = caller.begin(text)
        found = columns_of(caller.fetch(operation, ROWS))[1]
        while more := columns_of(caller.fetch(operation, 7))[1]:
            assert len(more) <= 7
            found += more
            if len(found) > 3_000:
                break
        assert found == expected[1][: len(found)]


def test_a_row_that_is_too_large_comes_alone(serve: Serve) -> None:
    with Caller(serve().port) as caller:
        operation = caller.begin("SELECT repeat('x', 300000), n FROM numbers WHERE n < 3")
        for number in range(3):
            (large,), (n,) = columns_of(caller.fetch(operation, 100))
            assert (len(large), n) == (300_000, number)


def test_metadata(serve: Serve) -> None:
    with Caller(serve().port) as caller:
        caller.rows(f"CREATE TABLE wide ({', '.join(f'c{n} INT' for n in range(3_000))})")
        try:
            request = calls.ttypes.TGetColumnsReq(sessionHandle=caller.session, tableName="wide")
            operation = caller.client.GetColumns(request).operationHandle
            sizes, names = [], []
            while more := columns_of(caller.fetch(operation, 10_000))[3]:
                sizes.append(len(more))
                names += more
            assert names == [f"c{n}" for n in range(3_000)]
            assert len(sizes) > 1
        finally:
            caller.rows("DROP TABLE wide")
