"""Programs depend on the known bounds of columns, and not on a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text, plan_query
from sharkpy.physical.column_bounds import MOST_STRINGS, ColumnBounds, ColumnRange
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, BlockSet
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import ResultSink, StageProgram
from tests.examples import examples

SHARED = "WITH s AS (SELECT word, sum(n) AS total FROM t GROUP BY word)"
QUERIES = (
    "SELECT n FROM t",
    "SELECT sum(n), sum(price), avg(price * (1 - price)) FROM t WHERE day > DATE '2024-01-01'",
    "SELECT word, kind, count(*) FROM t GROUP BY word, kind",
    "SELECT a.word, sum(a.n) FROM t a LEFT SEMI JOIN t b ON a.n = b.n WHERE a.price < 3 GROUP BY a.word",
    f"{SHARED} SELECT word FROM s WHERE total = (SELECT max(total) FROM s)",
    "SELECT n, row_number() OVER (PARTITION BY word ORDER BY day) FROM t",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql(
            "CREATE TABLE t (n INT, price DECIMAL(10,2), day DATE, word STRING, kind STRING)"
            " TBLPROPERTIES ('shark.cache'='MEMORY')"
        )
        opened.sql("INSERT INTO t VALUES (1, 1.5, DATE '2024-02-01', 'a', 'x'), (2, 2.5, DATE '2024-02-02', 'b', NULL)")
        opened.sql("INSERT INTO t VALUES (300, NULL, DATE '2024-03-01', 'a', 'y')")
        yield opened


def planned(session: sharkpy.SharkContext, text: str) -> PhysicalPlan:
    return plan_query(session, bind_text(session, text)).root  # type: ignore[arg-type]


def program(plan: PhysicalPlan) -> StageProgram:
    return lower_stage(plan, ResultSink()).program


@pytest.mark.parametrize("text", QUERIES)
def test_a_program_is_the_same_without_blocks(session: sharkpy.SharkContext, text: str) -> None:
    def emptied(node: PhysicalPlan) -> PhysicalPlan:
        return replace(node, blocks=BlockSet("t", 0, 0, 0, ())) if isinstance(node, BlockScan) else node

    plan = planned(session, text)
    empty = plan.transform_up(emptied)
    assert all(scan.blocks.num_rows == 0 for scan in empty.walk() if isinstance(scan, BlockScan))
    assert program(empty) == program(plan)


@pytest.mark.parametrize("text", QUERIES)
def test_bounds_make_a_program(session: sharkpy.SharkContext, text: str) -> None:
    def unbounded(node: PhysicalPlan) -> PhysicalPlan:
        return replace(node, bounds=ColumnBounds()) if isinstance(node, BlockScan) else node

    plan = planned(session, text)
    assert program(plan.transform_up(unbounded)) != program(plan)


def test_fewer_blocks_have_fewer_rows(session: sharkpy.SharkContext) -> None:
    scan = next(node for node in planned(session, "SELECT n FROM t").walk() if isinstance(node, BlockScan))
    assert scan.bounds.most_rows == 3
    first = scan.with_blocks(scan.blocks.at(scan.blocks.numbers()[:1]))
    assert (first.blocks.is_cut, first.bounds.most_rows) == (True, first.blocks.num_rows)
    assert scan.with_blocks(scan.blocks.at(scan.blocks.numbers())) == scan
    assert ColumnBounds().with_rows(7).with_rows(9) == ColumnBounds(most_rows=7)


# Bounds of other rows

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
RANGES = st.tuples(NUMBERS, NUMBERS).map(lambda pair: ColumnRange(min(pair), max(pair)))
STRINGS = st.sets(st.sampled_from("abcde"), min_size=1).map(lambda values: tuple(sorted(values)))
BOUNDS = st.builds(
    lambda ranges, strings, rows: ColumnBounds(tuple(ranges.items()), tuple(strings.items()), rows),
    st.dictionaries(st.sampled_from("nm"), RANGES),
    st.dictionaries(st.sampled_from("st"), STRINGS),
    st.none() | st.integers(1, 10**9),
)


@settings(max_examples=examples(300), deadline=None)
@given(one=BOUNDS, other=BOUNDS)
def test_wider_and_joined_bounds_hold_the_others(one: ColumnBounds, other: ColumnBounds) -> None:
    assert one.holds(one)
    assert one.widened().holds(one)
    assert one.joined(other).holds(one)
    assert one.joined(other).holds(other)
    assert one.joined(other) == one or not one.holds(other)
    assert one.widened().widened().holds(one.widened())


@pytest.mark.parametrize(
    ("known", "wider"),
    [
        ((0, 0), (0, 0)),
        ((1, 5), (0, 127)),
        ((-1, 127), (-128, 127)),
        ((-129, 128), (-256, 255)),
        ((-(2**15), -300), (-(2**15), 0)),
        ((1, 40_000), (0, 2**16 - 1)),
        ((-(2**63), 2**63 - 1), (-(2**63), 2**63 - 1)),
    ],
    ids=str,
)
def test_wider_ranges_have_the_same_type(known: tuple[int, int], wider: tuple[int, int]) -> None:
    assert ColumnRange(*known).widened() == ColumnRange(*wider)
    assert ColumnRange(*known).sql_type == ColumnRange(*wider).sql_type
    assert ColumnRange(*wider).widened() == ColumnRange(*wider)


@pytest.mark.parametrize(
    "other",
    [
        ColumnBounds((), (("s", ("a",)),), 5),
        ColumnBounds((("n", ColumnRange(0, 11)),), (("s", ("a",)),), 5),
        ColumnBounds((("n", ColumnRange(-1, 3)),), (("s", ("a",)),), 5),
        ColumnBounds((("n", ColumnRange(0, 3)),), (), 5),
        ColumnBounds((("n", ColumnRange(0, 3)),), (("s", ("c",)),), 5),
        ColumnBounds((("n", ColumnRange(0, 3)),), (("s", ("a",)),), 9),
        ColumnBounds((("n", ColumnRange(0, 3)),), (("s", ("a",)),), None),
    ],
    ids=str,
)
def test_bounds_that_do_not_hold_others(other: ColumnBounds) -> None:
    known = ColumnBounds((("n", ColumnRange(0, 10)),), (("s", ("a", "b")),), 8)
    assert known.holds(ColumnBounds((("m", ColumnRange(5, 6)), ("n", ColumnRange(3, 10))), (("s", ("b",)),), 8))
    assert not known.holds(other)


def test_many_strings_are_not_known() -> None:
    few = [ColumnBounds(distinct=(("s", tuple(f"{prefix}{i:02}" for i in range(60))),)) for prefix in "ab"]
    assert few[0].joined(few[1]).distinct == ()
    assert len(few[0].joined(few[0]).distinct[0][1]) == 60 <= MOST_STRINGS
