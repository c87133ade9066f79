"""Plans cut into stages give the rows of the plan in one piece, for every operator."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.physical.operators import Exchange
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.expr import AggregateCall, Alias, Call, Literal, SortKey, WindowCall
from sharkpy.plan.logical import (
    LATERAL_JOINS,
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Sort,
    Union,
    Values,
    Window,
)
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT
from tests.physical.simulate import World, ids, rows, unordered

LEFT = pa.table(
    {
        "k": pa.array([1, 2, 2, None, 5, 6, 7, 7, None, 9], pa.int32()),
        "v": pa.array([10, 20, 21, 30, None, 60, 70, 71, 80, 90], pa.int64()),
        "s": pa.array(["a", "b", "b", None, "e", "", "g", "g", "h", "i"]),
    }
)
RIGHT = pa.table(
    {
        "k": pa.array([2, 2, 5, None, 7, 11, 9], pa.int32()),
        "w": pa.array([1, 2, None, 4, 5, 6, 100], pa.int64()),
    }
)
EMPTY_RIGHT = RIGHT.slice(0, 0)
NO_NULLS = RIGHT.filter(pa.compute.is_valid(RIGHT.column("k")))


def world(join: str = "", **tables: pa.Table) -> World:
    data = {"l": LEFT, "r": RIGHT, "none": EMPTY_RIGHT, "full": NO_NULLS, **tables}
    return World(data, conf=Conf({"shark.test.join": join} if join else {}))


def call(function, *args, dtype=BOOLEAN):
    return Call(function, args, dtype)


def aggregate(function, *args, dtype=BIGINT, **more):
    return Alias(AggregateCall(function, args, dtype, **more), next(ids), function)


def assert_agree(w: World, plan, ordered: bool = False) -> list[tuple]:
    driver = w.run(plan, "driver")
    view = rows if ordered else unordered
    for use_replan in (False, True):
        assert view(w.run(plan, "rdd", use_replan=use_replan)) == view(driver)
    return view(driver)


def test_driver_plans_have_no_exchange():
    w = world()
    scan, c = w.scan("l")
    plan = Sort(Aggregate(scan, (c["k"],), (aggregate("count"),)), (SortKey(c["k"]),))
    assert not any(isinstance(node, Exchange) for node in plan_physical(plan, w.context("driver")).root.walk())


@pytest.mark.variants(3)
@pytest.mark.parametrize("join", ["", "broadcast", "shuffle"])
@pytest.mark.parametrize("right", ["r", "none", "full"])
@pytest.mark.parametrize("kind", [k for k in JoinKind if k not in (JoinKind.CROSS, JoinKind.SINGLE, *LATERAL_JOINS)])
def test_joins(kind, right, join):
    w = world(join)
    left, lc = w.scan("l")
    other, rc = w.scan(right)
    assert_agree(w, Join(left, other, kind, call("eq", lc["k"], rc["k"])))


def expected_join(kind: str, right: str) -> list[tuple]:
    import duckdb

    connection = duckdb.connect()
    connection.register("l", LEFT)
    connection.register("r", {"r": RIGHT, "none": EMPTY_RIGHT, "full": NO_NULLS}[right])
    return unordered(
        connection.sql(f"SELECT * FROM l {kind} JOIN r ON l.k = r.k")
        .to_arrow_table()
        .rename_columns(list("abcde")[: 3 if kind in ("SEMI", "ANTI") else 5])
    )


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    "kind", [JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI]
)
@pytest.mark.parametrize("right", ["r", "none"])
def test_joins_against_sql(kind, right):
    w = world("shuffle")
    left, lc = w.scan("l")
    other, rc = w.scan(right)
    plan = Join(left, other, kind, call("eq", lc["k"], rc["k"]))
    assert assert_agree(w, plan) == expected_join(kind.value.upper(), right)


def test_null_aware_anti_join():
    for right, expected in (("r", 0), ("none", 10), ("full", 2)):
        w = world()
        left, lc = w.scan("l")
        other, rc = w.scan(right)
        got = assert_agree(w, Join(left, other, JoinKind.NULL_AWARE_ANTI, call("eq", lc["k"], rc["k"])))
        assert len(got) == expected, right


def test_null_aware_anti_join_of_two_keys():
    w = world()
    left, lc = w.scan("l")
    other, rc = w.scan("full")
    condition = call("and", call("eq", lc["k"], rc["k"]), call("eq", lc["v"], rc["w"]))
    got = assert_agree(w, Join(left, other, JoinKind.NULL_AWARE_ANTI, condition))
    keys = list(zip(NO_NULLS.column("k").to_pylist(), NO_NULLS.column("w").to_pylist(), strict=True))

    def vanishes(k, v) -> bool:
        return any(k in (a, None) and (v == b or b is None or v is None) for a, b in keys)

    assert [row[:2] for row in got] == sorted([row[:2] for row in rows(LEFT) if not vanishes(row[0], row[1])], key=repr)


@pytest.mark.variants(3)
@pytest.mark.parametrize("join", ["", "broadcast", "shuffle"])
def test_null_safe_and_residual_conditions(join):
    w = world(join)
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    condition = call(
        "and",
        call("eq_null_safe", lc["k"], rc["k"]),
        call("lt", lc["v"], call("multiply", rc["w"], Literal(20, BIGINT), dtype=BIGINT)),
    )
    for kind in (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI, JoinKind.RIGHT, JoinKind.FULL):
        assert_agree(w, Join(left, other, kind, condition))


@pytest.mark.parametrize(
    "kind", [JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI]
)
@pytest.mark.parametrize("right", ["r", "none"])
def test_joins_without_equalities(kind, right):
    w = world()
    left, lc = w.scan("l")
    other, rc = w.scan(right)
    condition = None if kind is JoinKind.CROSS else call("lt", lc["k"], rc["k"])
    assert_agree(w, Join(left, other, kind, condition))


@pytest.mark.parametrize("join", ["", "shuffle"])
def test_joins_on_expressions(join):
    w = world(join)
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    one = Literal(1, INT)
    condition = call("eq", call("add", lc["k"], one, dtype=INT), call("add", rc["k"], one, dtype=INT))
    got = assert_agree(w, Join(left, other, JoinKind.INNER, condition))
    assert len(got) == 8
    assert len(got[0]) == 5


@pytest.mark.parametrize("placement", ["driver", "rdd"])
@pytest.mark.parametrize("keyed", [True, False])
def test_single_join_fails_on_a_second_match(placement, keyed):
    w = world()
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    condition = call("eq", lc["k"], rc["k"]) if keyed else None
    with pytest.raises(Exception, match="more than one row"):
        w.run(Join(left, other, JoinKind.SINGLE, condition), placement)


@pytest.mark.parametrize("join", ["", "broadcast", "shuffle"])
def test_single_join(join):
    w = world(join)
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    few = Filter(other, call("gt", rc["w"], Literal(1, BIGINT)))
    got = assert_agree(w, Join(left, few, JoinKind.SINGLE, call("eq", lc["k"], rc["k"])))
    assert len(got) == 10
    total = Aggregate(other, (), (aggregate("max", rc["w"]),))
    got = assert_agree(w, Join(left, total, JoinKind.SINGLE))
    assert {row[3] for row in got} == {100}


def test_single_join_with_residual():
    w = world()
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    condition = call("and", call("eq", lc["k"], rc["k"]), call("gt", rc["w"], Literal(1, BIGINT)))
    assert len(assert_agree(w, Join(left, other, JoinKind.SINGLE, condition))) == 10


@pytest.mark.parametrize("name", ["l", "empty"])
def test_aggregates(name):
    w = world(empty=LEFT.slice(0, 0))
    scan, c = w.scan(name)
    every = (
        aggregate("count"),
        aggregate("count", c["v"]),
        aggregate("sum", c["v"]),
        aggregate("min", c["v"]),
        aggregate("max", c["v"]),
        aggregate("avg", c["v"], dtype=DOUBLE),
    )
    got = assert_agree(w, Aggregate(scan, (c["k"],), every))
    assert len(got) == (7 if name == "l" else 0)
    total = assert_agree(w, Aggregate(scan, (), every))
    assert total[0][:3] == ((10, 9, 452) if name == "l" else (0, 0, None))


def test_distinct_aggregates_and_filters():
    w = world()
    scan, c = w.scan("l")
    big = call("gt", c["v"], Literal(50, BIGINT))
    calls = (aggregate("count", c["k"], distinct=True), aggregate("sum", c["v"], filter=big))
    assert assert_agree(w, Aggregate(scan, (), calls)) == [(6, 371)]
    assert_agree(w, Aggregate(scan, (c["s"],), calls))
    plain = (aggregate("count", filter=big), aggregate("max", c["v"], distinct=True))
    assert assert_agree(w, Aggregate(scan, (), plain)) == [(5, 90)]


def test_distinct_rows_and_groups_by_expression():
    w = world()
    scan, c = w.scan("l")
    assert len(assert_agree(w, Aggregate(scan, (c["s"],), ()))) == 8
    half = Alias(call("div", c["k"], Literal(2, INT), dtype=BIGINT), next(ids), "half")
    assert_agree(w, Aggregate(scan, (half,), (aggregate("count", c["v"], distinct=True),)))


def test_float_group_keys():
    w = world(f=pa.table({"x": pa.array([0.0, -0.0, float("nan"), float("nan"), None, None, 1.5])}))
    scan, c = w.scan("f")
    got = assert_agree(w, Aggregate(scan, (c["x"],), (aggregate("count"),)))
    assert got == [("NaN", 2), (0.0, 2), (1.5, 1), (None, 2)]


def test_sort_and_limits():
    big = pa.table({"a": pa.array([(i * 7919) % 10_007 for i in range(300_000)]), "b": pa.array(range(300_000))})
    w = world(big=big)
    scan, c = w.scan("big")
    keys = (SortKey(c["a"], False, False), SortKey(c["b"]))
    assert_agree(w, Sort(scan, keys), ordered=True)
    top = assert_agree(w, Limit(Sort(scan, keys), 5, 2), ordered=True)
    assert len(top) == 5
    assert top[0][0] == 10_006
    assert len(w.run(Limit(scan, 7, 3), "rdd")) == 7
    item = Alias(call("add", c["a"], Literal(1, BIGINT), dtype=BIGINT), next(ids), "x")
    assert assert_agree(w, Limit(Project(Sort(scan, keys), (item,)), 3), ordered=True)[0] == (10_007,)


def test_null_order():
    w = world()
    scan, c = w.scan("l", "k", "v")
    first = assert_agree(w, Sort(scan, (SortKey(c["k"]), SortKey(c["v"]))), ordered=True)
    assert [row[0] for row in first][:3] == [None, None, 1]
    last = assert_agree(w, Sort(scan, (SortKey(c["k"], True, False), SortKey(c["v"]))), ordered=True)
    assert [row[0] for row in last][-2:] == [None, None]


def test_union_with_values_and_aggregates():
    w = world()
    scan, c = w.scan("l", "k", "v")
    column = c["k"].__class__
    values = Values(
        (column(next(ids), "a", INT), column(next(ids), "b", BIGINT)), ((Literal(1, INT), Literal(None, BIGINT)),)
    )
    other, oc = w.scan("r", "k", "w")
    grouped = Aggregate(other, (oc["k"],), (aggregate("sum", oc["w"]),))
    out = (column(next(ids), "x", INT), column(next(ids), "y", BIGINT))
    got = assert_agree(w, Union((scan, values, grouped), out))
    assert len(got) == 10 + 1 + 6


def test_values_without_rows_or_columns():
    w = world()
    column = w.scan("l")[1]["k"].__class__
    none = Values((column(next(ids), "a", INT),), ())
    assert assert_agree(w, Project(none, none.columns)) == []
    one = Project(Values((), ((),)), (Alias(Literal(5, INT), next(ids), "five"),))
    assert assert_agree(w, one) == [(5,)]


def test_windows():
    w = world()
    scan, c = w.scan("l")
    ranked = Alias(WindowCall("rank", (), (c["k"],), (SortKey(c["v"]),), None, INT), next(ids), "r")
    total = Alias(WindowCall("sum", (c["v"],), (), (), None, BIGINT), next(ids), "t")
    got = assert_agree(w, Window(scan, (ranked, total)))
    assert {row[-1] for row in got} == {452}


def test_expand_is_grouping_sets():
    w = world()
    scan, c = w.scan("l")
    column = c["k"].__class__
    out = (column(next(ids), "k", INT), column(next(ids), "g", INT), column(next(ids), "v", BIGINT))
    sets = ((c["k"], Literal(0, INT), c["v"]), (Literal(None, INT), Literal(1, INT), c["v"]))
    plan = Aggregate(Expand(scan, out, sets), out[:2], (aggregate("sum", out[2]),))
    got = assert_agree(w, plan)
    assert (None, 1, 452) in got
    assert len(got) == 8


@pytest.mark.parametrize("outer", [True, False])
def test_generate(outer):
    w = world(
        a=pa.table({"i": pa.array([1, 2, 3], pa.int32()), "xs": pa.array([[1, 2], [], None], pa.list_(pa.int32()))})
    )
    scan, c = w.scan("a")
    column = c["i"].__class__(next(ids), "x", INT)
    got = assert_agree(w, Project(Generate(scan, Call("explode", (c["xs"],), INT), (column,), outer), (c["i"], column)))
    assert got == sorted([(1, 1), (1, 2)] + ([(2, None), (3, None)] if outer else []), key=repr)


def test_distribute_by_brings_keys_together():
    w = world()
    scan, c = w.scan("l")
    assert_agree(w, Sort(Distribute(scan, (c["k"],)), (SortKey(c["v"]),), False))


def test_join_of_aggregates():
    w = world("shuffle")
    left, lc = w.scan("l")
    other, rc = w.scan("r")
    a, b = aggregate("sum", lc["v"]), aggregate("count")
    plan = Join(
        Aggregate(left, (lc["k"],), (a,)),
        Aggregate(other, (rc["k"],), (b,)),
        JoinKind.FULL,
        call("eq", lc["k"], rc["k"]),
    )
    assert_agree(w, Aggregate(plan, (lc["k"],), (aggregate("sum", b.ref),)))


def test_count_over_no_columns():
    w = world()
    scan, _ = w.scan("l")
    bare = Project(scan, ())
    assert assert_agree(w, Aggregate(bare, (), (aggregate("count"),))) == [(10,)]
    from sharkpy.plan.logical import Scan

    assert assert_agree(w, Aggregate(Scan(scan.table, (), ()), (), (aggregate("count"),))) == [(10,)]
