"""ORDER BY ... LIMIT and LIMIT open few blocks of a cached table, in the driver and as RDD tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.physical import first_rows

BLOCKS, ROWS = 12, 1000


@pytest.fixture(scope="module", params=["true", "false"], ids=["driver", "rdd"])
def session(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    conf = {
        "shark.placement.driver": request.param,
        "shark.block.rows": ROWS,
        "shark.compaction": False,
        "shark.task.single.max.rows": 0,
    }
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **conf) as opened:
        opened.sql("CREATE TABLE facts (day INT, amount INT, name STRING) TBLPROPERTIES ('shark.cache'='MEMORY')")
        for day in range(BLOCKS):
            opened.sql(
                f"INSERT INTO facts SELECT {day}, pos, concat('day {100 + day} item ', 100000 + pos)"
                f" FROM (SELECT 1) one LATERAL VIEW posexplode(split(space({ROWS - 1}), ' ')) rows AS pos, item"
            )
        yield opened


@pytest.fixture(autouse=True)
def small_counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_rows, "_LEAST_SINGLE_ROWS", 0)


def opened_blocks(session: sharkpy.SharkContext, query: str) -> tuple[list[tuple[object, ...]], int]:
    """Rows of the query, and the number of blocks opened according to its decision."""
    result = session.sql(query)
    rows = result.fetchall()
    (decision,) = [one for one in result.profile.decisions if one.rule == "first_rows"]
    figures = dict(decision.figures)
    assert figures["blocks"] == BLOCKS
    scanned = [stage for stage in result.profile.stages if stage.fragment and "BlockScan" in stage.fragment.explain()]
    read = sum(stage.rows_in for stage in scanned)
    assert read == figures["opened"] * ROWS
    return rows, figures["opened"]


@pytest.mark.variants(3)
@pytest.mark.parametrize("key", ["day", "name"])
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_the_first_rows_come_from_the_blocks_that_promise_most(
    session: sharkpy.SharkContext, key: str, direction: str
) -> None:
    query = f"SELECT name FROM facts WHERE amount % 100 = 7 ORDER BY {key} {direction}, name LIMIT 3"
    rows, opened = opened_blocks(session, query)
    day = 0 if direction == "ASC" else BLOCKS - 1
    items = (7, 107, 207) if key == "day" or direction == "ASC" else (907, 807, 707)
    assert rows == [(f"day {100 + day} item {100000 + item}",) for item in items]
    assert opened == 2


def test_a_limit_above_a_filter_opens_no_further_blocks(session: sharkpy.SharkContext) -> None:
    rows, opened = opened_blocks(session, "SELECT day FROM facts WHERE amount % 10 = 3 AND amount < 900 LIMIT 5")
    assert len(rows) == 5
    assert opened == 2


def test_a_limit_above_a_union_leaves_the_second_input_alone(session: sharkpy.SharkContext) -> None:
    branches = [f"SELECT day FROM facts WHERE amount % 10 = {digit}" for digit in (3, 4)]
    rows, opened = opened_blocks(session, f"SELECT * FROM ({' UNION ALL '.join(branches)}) u LIMIT 5")
    assert len(rows) == 5
    assert opened == 2


def test_a_bare_limit_reads_one_block(session: sharkpy.SharkContext) -> None:
    result = session.sql("SELECT * FROM facts LIMIT 5")
    assert len(result.fetchall()) == 5
    assert max(stage.rows_in for stage in result.profile.stages) == ROWS


def test_a_top_n_in_a_subquery_is_found_first(session: sharkpy.SharkContext) -> None:
    top = "SELECT day, amount FROM facts WHERE amount > 990 ORDER BY day DESC, amount LIMIT 2"
    rows, opened = opened_blocks(session, f"SELECT sum(t.day), sum(t.amount) FROM ({top}) t")
    assert rows == [(2 * (BLOCKS - 1), 991 + 992)]
    assert opened == 2


def test_without_pruning_all_blocks_are_opened(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.pruning=false")
    try:
        result = session.sql("SELECT name FROM facts WHERE amount % 100 = 7 ORDER BY day, name LIMIT 3")
        assert len(result.fetchall()) == 3
        assert max(stage.rows_in for stage in result.profile.stages) == BLOCKS * ROWS
    finally:
        session.sql("RESET shark.pruning")
