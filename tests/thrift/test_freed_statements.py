"""Memory of a statement is free once its operation is closed, before any collection of garbage."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from tests.thrift.caller import SUCCESS, Caller
from tests.thrift.conftest import LONG_QUERY, Serve

HELD = frozenset(
    {
        "DataFile",
        "Operation",
        "PhysicalPlan",
        "PlanRunner",
        "PreparedStatement",
        "Project",
        "QuerySnapshot",
        "Result",
        "RowStream",
        "Scan",
        "Split",
        "Statement",
    }
)


@pytest.fixture
def caller(serve: Serve) -> Iterator[Caller]:
    with Caller(serve().port) as caller:
        yield caller


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def run(caller: Caller, text: str) -> None:
    answer = caller.execute(text)
    if answer.status.statusCode == SUCCESS:
        if answer.operationHandle.hasResultSet:
            caller.fetch(answer.operationHandle)
        caller.close(answer.operationHandle)


_SECONDS = 0.2
"""Time in which the server's threads come back from their work for an operation: no event tells when they have."""


def garbage() -> set[str]:
    """Names of the classes in `HELD` of which something waits for the collector."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    return {type(one).__name__ for one in gc.garbage} & HELD


@pytest.mark.variants
@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*), sum(n) FROM numbers WHERE n <> {}",
        "SELECT s, count(*) FROM numbers WHERE n < {} GROUP BY s ORDER BY 2",
        "SELECT * FROM numbers WHERE n > {}",
        "SELECT a.n, row_number() OVER (ORDER BY b.n) FROM numbers a JOIN numbers b ON a.n = b.n WHERE a.n < {}",
        "SELECT n FROM numbers WHERE n IN (SELECT max(n) - {} FROM numbers)",
        "SELECT nothing FROM numbers WHERE n = {}",
        "SELECT cast(n AS INT) FROM no_table_{}",
        "INSERT INTO written VALUES ({})",
        "INSERT OVERWRITE TABLE written SELECT n FROM numbers WHERE n < {}",
        "CREATE OR REPLACE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT n FROM numbers WHERE n > {}",
        "EXPLAIN SELECT n FROM numbers WHERE n = {}",
        "SHOW TABLES LIKE '{}'",
        "SET shark.query.timeout = {}",
    ],
)
def test_nothing_waits_for_the_collector(caller: Caller, no_collection: None, text: str) -> None:
    run(caller, "CREATE TABLE IF NOT EXISTS written (n BIGINT)")
    # What is made once stays.
    run(caller, text.format(1))
    gc.collect()
    run(caller, text.format(2))
    run(caller, text.format(2))
    time.sleep(_SECONDS)
    assert not garbage()


def test_a_cancelled_query(caller: Caller, no_collection: None) -> None:
    for _ in range(2):
        operation = caller.begin(LONG_QUERY)
        # It works by then, and is not merely planned.
        time.sleep(0.3)
        caller.cancel(operation)
        caller.until_ended(operation)
        caller.close(operation)
        time.sleep(3 * _SECONDS)
        found = garbage()
        gc.set_debug(0)
        gc.garbage.clear()
    assert not found
