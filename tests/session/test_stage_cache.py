"""Stages of repeated queries are cached while their tables get other rows, and made again if these rows need it.

Here, and in the whole of `make test-all`, each use of a cached stage is checked against a new plan
(`shark.test.stages`).
"""

from __future__ import annotations

import dataclasses
import datetime
import gc
import itertools
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import BindError, InternalError
from sharkpy.physical import stage_cache
from sharkpy.physical.lowering import lower_stage
from sharkpy.physical.operators import BlockScan
from sharkpy.physical.stage_cache import StageTemplate, scans_of
from sharkpy.sql.parameters import bind_parameters
from tests.examples import examples

COLUMNS = "(k BIGINT, n INT, price DECIMAL(10,2), day DATE, word STRING)"
MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
GROUPED = "SELECT word, sum(k), max(price), min(day), count(n) FROM t GROUP BY word ORDER BY word"
QUERIES = (
    GROUPED,
    "SELECT * FROM t ORDER BY k, n, price, day, word",
    "SELECT sum(k * n), sum(price * 2 + k), avg(price), sum(n) FROM t",
    "SELECT count(*), max(k), min(price) FROM t",
    "SELECT count(*), sum(k) FROM t WHERE k > 100",
    "SELECT k FROM t ORDER BY k DESC LIMIT 3",
    "SELECT n FROM (SELECT n FROM t ORDER BY n LIMIT 2) AS first ORDER BY n",
    "SELECT count(*) FROM (SELECT k FROM t LIMIT 2) AS some",
    "SELECT a.word, count(*), sum(b.k) FROM t a JOIN t b ON a.word = b.word GROUP BY a.word ORDER BY a.word",
    "SELECT k, sum(k) OVER (PARTITION BY word ORDER BY k, n) AS total FROM t ORDER BY k, total",
    "WITH s AS (SELECT word, sum(k) AS k FROM t GROUP BY word) SELECT word FROM s WHERE k = (SELECT max(k) FROM s)",
    "SELECT word, day, count(*) FROM t GROUP BY word, day ORDER BY word, day",
    "SELECT k FROM t UNION ALL SELECT n FROM t WHERE n < 0 ORDER BY k",
)
NUMBERS = itertools.count()
Row = tuple[object, ...]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.test.stages": True}) as opened:
        opened.sql(f"CREATE TABLE t {COLUMNS} {MEMORY}").close()
        insert(opened, [(number, number, Decimal(number), day(number), "ab"[number % 2]) for number in range(10)])
        yield opened


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Plans of tables that were lowered, without the plans of checks."""
    found: list[object] = []
    original, check = lower_stage.lower_fragment, stage_cache.check_stage

    def lower(fragment: Any, *rest: Any) -> Any:
        if scans_of(fragment):
            found.append(fragment)
        return original(fragment, *rest)

    def check_uncounted(*given: Any) -> None:
        before = len(found)
        check(*given)
        del found[before:]

    monkeypatch.setattr(lower_stage, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "lower_fragment", lower)
    monkeypatch.setattr(stage_cache, "check_stage", check_uncounted)
    return found


def day(number: int) -> datetime.date:
    return datetime.date(2024, 1, 1) + datetime.timedelta(number)


def literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case datetime.date():
            return f"DATE '{value}'"
    return str(value)


def insert(session: sharkpy.SharkContext, rows: Sequence[Row], table: str = "t") -> None:
    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    session.sql(f"INSERT INTO {table} VALUES {values}").close()


def answer(session: sharkpy.SharkContext, text: str) -> list[Row]:
    return [tuple(row) for row in session.sql(text).fetchall()]


def anew(session: sharkpy.SharkContext, text: str) -> list[Row]:
    """The answer of a query that has not run yet."""
    return answer(session, f"{text} -- {next(NUMBERS)}")


def templates(session: sharkpy.SharkContext) -> list[StageTemplate]:
    kept = session.engine.stage_cache._known.values()
    return [one.template for one in kept if one.template is not None]


def keep(session: sharkpy.SharkContext, text: str) -> None:
    """Ask until the query's stage is kept."""
    answer(session, text)
    insert(session, [(1, 1, Decimal(1), day(1), "a")])
    answer(session, text)


def test_rows_within_the_bounds_are_lowered_no_more(session: sharkpy.SharkContext, lowered: list[object]) -> None:
    keep(session, GROUPED)
    assert len(lowered) == 2
    for number in range(4):
        insert(session, [(100 + number, number, Decimal(2), day(20), "b")])
        assert answer(session, GROUPED)[1][1] == 1 + 3 + 5 + 7 + 9 + sum(range(100, 101 + number))
    assert len(lowered) == 2
    # Twice as many rows as the bounds hold.
    insert(session, [(1, 1, None, None, None)] * 20)
    assert answer(session, GROUPED) == anew(session, GROUPED)
    assert len(lowered) == 4
    insert(session, [(1, 1, None, None, None)])
    answer(session, GROUPED)
    assert len(lowered) == 4


@pytest.mark.variants
@pytest.mark.parametrize(
    "row",
    [
        (-1, 1, None, None, "a"),
        (2**62, 1, None, None, "a"),
        (-(2**63), 1, None, None, "a"),
        (1, 2**31 - 1, None, None, "a"),
        (1, 300, None, None, "a"),
        (1, 1, Decimal("99999999.99"), None, "a"),
        (1, 1, Decimal("-5.25"), None, "a"),
        (1, 1, None, datetime.date(1969, 1, 1), "a"),
        (1, 1, None, datetime.date(9999, 12, 31), "a"),
        (1, 1, None, None, "another"),
        (None, None, None, None, None),
    ],
    ids=str,
)
def test_rows_beyond_the_bounds(session: sharkpy.SharkContext, row: Row) -> None:
    for text in QUERIES:
        answer(session, text)
    for rows in ([(1, 1, Decimal(1), day(1), "a")], [row], [row], [(1, 1, Decimal(1), day(1), "a")]):
        insert(session, rows)
        for text in QUERIES:
            assert answer(session, text) == anew(session, text)


def test_bounds_grow_in_few_steps(session: sharkpy.SharkContext, lowered: list[object]) -> None:
    """A number that grows by one each time leaves its bounds when it has doubled."""
    text = "SELECT sum(k) FROM t WHERE n >= 0"
    keep(session, text)
    lowered.clear()
    for number in range(120, 150):
        insert(session, [(number, 1, None, None, None)])
        answer(session, text)
    # Of k the bounds are 127 and 255, of the rows 16, 32 and 64.
    assert len(lowered) == 3


def test_a_column_of_many_strings(session: sharkpy.SharkContext) -> None:
    keep(session, GROUPED)
    for first in range(0, 150, 30):
        insert(session, [(1, 1, None, None, f"w{number}") for number in range(first, first + 30)])
        assert answer(session, GROUPED) == anew(session, GROUPED)


def test_keys_that_begin_to_repeat(session: sharkpy.SharkContext) -> None:
    """Then DuckDB would underestimate the join. A kept stage lets it, as it keeps the order of an older estimate."""
    text = "SELECT count(*) FROM t a JOIN t b ON a.word = b.word"
    session.sql("TRUNCATE TABLE t").close()
    for first in (0, 4, 8, 12, *[0] * 6):
        insert(session, [(1, 1, None, None, f"w{number}") for number in range(first, first + 4)])
        assert answer(session, text) == anew(session, text)


VALUES = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-130, 130),
    st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(-130, 130),
    st.none() | st.decimals(-99999999, 99999999, places=2),
    st.none() | st.dates(datetime.date(1, 1, 1)),
    st.none() | st.text("abc", max_size=2),
)


@settings(max_examples=examples(24), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=3, max_size=5))
def test_any_rows(session: sharkpy.SharkContext, batches: list[list[Row]]) -> None:
    session.sql("TRUNCATE TABLE t").close()
    texts = (QUERIES[0], QUERIES[4], QUERIES[5], QUERIES[8], QUERIES[11])
    for batch in batches:
        insert(session, batch)
        for text in texts:
            assert outcome(answer, session, text) == outcome(anew, session, text)


def outcome(ask: Any, session: sharkpy.SharkContext, text: str) -> object:
    """Rows, or the state of the error, as of a sum that does not fit."""
    try:
        return ask(session, text)
    except sharkpy.SharkError as error:
        return error.sqlstate


# Tables that change otherwise


def test_a_table_without_rows(session: sharkpy.SharkContext) -> None:
    for text in QUERIES:
        answer(session, text)
    insert(session, [(1, 1, Decimal(1), day(1), "a")])
    for text in QUERIES:
        answer(session, text)
    session.sql("TRUNCATE TABLE t").close()
    for text in QUERIES:
        assert answer(session, text) == anew(session, text)
    insert(session, [(200, 1, Decimal(1), day(1), "a")])
    for text in QUERIES:
        assert answer(session, text) == anew(session, text)


@pytest.mark.variants
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT OVERWRITE TABLE t SELECT -k, n, price, day, upper(word) FROM t",
        "ALTER TABLE t SET TBLPROPERTIES ('shark.cache' = 'NONE')",
        "UPDATE t SET word = 'z' WHERE k > 5",
        "DELETE FROM t WHERE k > 5",
        "ALTER TABLE t ADD COLUMNS (more INT)",
        f"DROP TABLE t; CREATE TABLE t {COLUMNS}; INSERT INTO t VALUES (1, 1, 1, NULL, 'a')",
        "DROP TABLE t; CREATE TABLE t (k INT, n STRING, price INT, day STRING, word DATE);"
        " INSERT INTO t VALUES (1, '1', 1, '', NULL)",
    ],
)
def test_a_table_that_is_another_one(session: sharkpy.SharkContext, statement: str) -> None:
    for text in QUERIES:
        keep(session, text)
    session.sql(statement)
    for text in QUERIES:
        assert outcome(answer, session, text) == outcome(anew, session, text)
        # Whatever it was, rows of the new kind are kept, too.
        assert outcome(answer, session, text) == outcome(anew, session, text)


def test_a_dropped_table(session: sharkpy.SharkContext) -> None:
    keep(session, GROUPED)
    session.sql("DROP TABLE t").close()
    with pytest.raises(BindError):
        answer(session, GROUPED)


def test_tables_in_files(session: sharkpy.SharkContext, lowered: list[object]) -> None:
    session.sql("CREATE TABLE f (k BIGINT, word STRING) STORED AS PARQUET").close()
    text = "SELECT word, sum(k) FROM f GROUP BY word ORDER BY word"
    for number in range(6):
        insert(session, [(10**number, "ab"[number % 2])], "f")
        totals = [(word, sum(10**one for one in range(start, number + 1, 2))) for start, word in enumerate("ab")]
        assert answer(session, text) == totals[: number + 1]
    assert len(lowered) == 2
    assert len(answer(session, "SELECT * FROM f")) == 6
    session.sql("TRUNCATE TABLE f").close()
    assert (answer(session, text), answer(session, "SELECT * FROM f")) == ([], [])
    insert(session, [(1, "a")], "f")
    assert (answer(session, text), answer(session, "SELECT * FROM f")) == ([("a", 1)], [(1, "a")])


def test_hive_partitions(session: sharkpy.SharkContext, lowered: list[object]) -> None:
    """The partitions that a predicate leaves are found each time."""
    session.sql(f"CREATE TABLE p (k BIGINT) PARTITIONED BY (part INT) {MEMORY}").close()
    text = "SELECT sum(k), count(*) FROM p WHERE part > 2"
    for number in range(8):
        session.sql(f"INSERT INTO p PARTITION (part = {number}) VALUES ({number}), (1)").close()
        expected = sum(one + 1 for one in range(3, number + 1)) if number > 2 else None
        assert answer(session, text) == [(expected, 2 * max(number - 2, 0))]
    assert len(lowered) == 3


def test_other_parameters(session: sharkpy.SharkContext) -> None:
    """Statements with other parameters are other ones; each has a stage of its own."""
    for number in range(4):
        insert(session, [(number, number, None, None, "a")])
        for least in (0, 3, 100, 2**40):
            text = bind_parameters("SELECT sum(k), count(*) FROM t WHERE k >= ?", [least]).text
            assert answer(session, text) == anew(session, text)


# Kept stages


def test_no_rows_are_kept(session: sharkpy.SharkContext) -> None:
    for text in QUERIES:
        keep(session, text)
    found = [scan for one in templates(session) for scan in scans_of(one.root)]
    leaves = [leaf for one in templates(session) for _, leaf in one.leaves]
    assert len(found) >= len(QUERIES) - 1
    assert all(
        scan.blocks.blocks == () and scan.blocks.statistics is None for scan in found if isinstance(scan, BlockScan)
    )
    assert {id(leaf) for leaf in leaves} <= {id(scan) for scan in found}


def test_a_stage_ends_with_its_query(session: sharkpy.SharkContext) -> None:
    before = len(session.engine.stage_cache)
    keep(session, GROUPED)
    assert len(session.engine.stage_cache) == before + 1
    session._shared.plans.clear()
    gc.collect()
    assert len(session.engine.stage_cache) == before


def test_settings_have_stages_of_their_own(session: sharkpy.SharkContext) -> None:
    keep(session, QUERIES[4])
    session.sql("SET shark.pruning = false").close()
    keep(session, QUERIES[4])
    assert answer(session, QUERIES[4]) == anew(session, QUERIES[4])


def test_rows_that_are_not_within_kept_bounds_are_noticed(
    session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filled(empty: Any, planned: Any) -> Any:
        return dataclasses.replace(empty, blocks=planned.blocks)

    keep(session, GROUPED)
    monkeypatch.setattr(stage_cache, "_filled", filled)
    insert(session, [(1, 1, None, None, "a")])
    answer(session, GROUPED)
    insert(session, [(2**40, 1, None, None, "a")])
    with pytest.raises(InternalError, match="not within kept bounds"):
        answer(session, GROUPED)


def test_a_stage_that_is_not_that_of_its_plan_is_noticed(
    session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lower(fragment: Any) -> Any:
        lowered = lower_stage.lower_fragment(fragment)
        return dataclasses.replace(lowered, sql=f"{lowered.sql} LIMIT 1")

    monkeypatch.setattr(stage_cache, "lower_fragment", lower)
    with pytest.raises(InternalError, match="not that of its plan"):
        keep(session, GROUPED)
