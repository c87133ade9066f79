"""DISTINCT aggregates in two levels give what one step gives, and share a heavy group among tasks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.conf import Conf
from sharkpy.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.logical import Aggregate
from sharkpy.physical.operators import AggregateMode, Exchange, Expand, HashAggregate
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.types import BIGINT, BOOLEAN, DOUBLE, INT, ArrayType, DataType
from tests.physical.simulate import World, ids, unordered

TABLE = pa.schema([("g", pa.int32()), ("h", pa.string()), ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string())])
MAYBE = st.none
ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2, None]),
        st.sampled_from(["a", "", None]),
        MAYBE() | st.integers(-3, 3),
        MAYBE() | st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e6]),
        MAYBE() | st.sampled_from(["", "u", "v", "ü"]),
    ),
    max_size=40,
)


def aggregate(function: str, *args: Expr, dtype: DataType = BIGINT, **more: object) -> Alias:
    return Alias(AggregateCall(function, args, dtype, **more), next(ids), function)  # type: ignore[arg-type]


def distinct(function: str, *args: Expr, dtype: DataType = BIGINT, **more: object) -> Alias:
    return aggregate(function, *args, dtype=dtype, distinct=True, **more)


def _positive(c: dict[str, ColumnRef]) -> Expr:
    return Call("gt", (c["x"], Literal(0, BIGINT)), BOOLEAN)


def _doubled(c: dict[str, ColumnRef]) -> Expr:
    return Call("multiply", (c["x"], Literal(2, BIGINT)), BIGINT)


def _distinct(c: dict[str, ColumnRef]) -> tuple[Alias, ...]:
    """DISTINCT aggregates of every kind and argument."""
    x, y, s = c["x"], c["y"], c["s"]
    return (
        distinct("count", x),
        distinct("sum", x),
        distinct("avg", x, dtype=DOUBLE),
        distinct("count", x, s),
        distinct("count", s),
        distinct("sum", y, dtype=DOUBLE),
        distinct("count", c["g"]),
        distinct("count", _doubled(c)),
        distinct("count", x, filter=_positive(c)),
        distinct("count", Literal(1, INT)),
        distinct("var_pop", x, dtype=DOUBLE),
        distinct("bit_xor", x),
    )


def _plain(c: dict[str, ColumnRef]) -> tuple[Alias, ...]:
    return (
        aggregate("count"),
        aggregate("sum", c["x"]),
        aggregate("avg", c["y"], dtype=DOUBLE),
        aggregate("min", c["s"], dtype=c["s"].dtype),
        aggregate("max", c["x"]),
        aggregate("count", c["s"], filter=_positive(c)),
        distinct("max", c["y"], dtype=DOUBLE),
    )


def _rounded(rows: list[tuple]) -> list[tuple]:
    return [tuple(round(value, 6) + 0.0 if isinstance(value, float) else value for value in row) for row in rows]


@settings(deadline=None, max_examples=60)
@given(data=st.data(), rows=ROWS)
def test_two_levels_give_what_one_step_gives(data: st.DataObject, rows: list[tuple]) -> None:
    table = pa.Table.from_pylist([dict(zip(TABLE.names, row, strict=True)) for row in rows], TABLE)
    levels = World({"t": table}, conf=Conf({"shark.test.skew": "true"}))
    step = World({"t": table}, conf=Conf({"shark.skew": "false"}))
    scan, c = levels.scan("t")
    groups = data.draw(st.sampled_from(((), (c["g"],), (c["g"], c["h"]), (Alias(_doubled(c), next(ids), "d"),))))
    chosen = data.draw(st.lists(st.sampled_from(_distinct(c)), min_size=1, max_size=3, unique=True))
    plain = data.draw(st.lists(st.sampled_from(_plain(c)), max_size=3, unique=True))
    items = tuple(data.draw(st.permutations([*chosen, *plain])))
    plan = Aggregate(scan, groups, items)
    assert _modes(plan_physical(plan, levels.context("rdd")))[0] == "final"
    assert _modes(plan_physical(plan, step.context("rdd"))) == ["complete"]
    use_replan = data.draw(st.booleans())
    got = unordered(levels.run(plan, "rdd", use_replan=use_replan))
    assert _rounded(got) == _rounded(unordered(step.run(plan, "rdd")))


def _modes(plan: PhysicalPlan) -> list[str]:
    return [node.mode.value for node in plan.walk() if isinstance(node, HashAggregate)]


def world(**conf: str) -> World:
    skewed = {"g": [7] * 900 + list(range(100)), "h": ["a"] * 1000, "x": list(range(1000))}
    table = pa.table({**skewed, "y": [0.5] * 1000, "s": ["u"] * 1000}, TABLE)
    return World({"t": table}, conf=Conf({key.replace("_", "."): value for key, value in conf.items()}))


def exchanges(plan: PhysicalPlan) -> list[str]:
    return [str(node.partitioning).split("#")[0] for node in plan.walk() if isinstance(node, Exchange)]


def test_rows_move_by_group_and_argument_then_states_by_group():
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    plan = plan_physical(Aggregate(scan, (c["g"],), (distinct("count", c["x"]), aggregate("count"))), w.context("rdd"))
    labels = [node.label.split(" computing")[0] for node in plan.walk() if isinstance(node, HashAggregate)]
    g, x = str(c["g"]), str(c["x"])
    assert labels == [
        f"HashAggregate final by [{g}]",
        f"HashAggregate merge by [{g}]",
        f"HashAggregate merge by [{g}, {x}]",
        f"HashAggregate partial by [{g}, {x}]",
    ]
    outer, inner = (node for node in plan.walk() if isinstance(node, Exchange))
    assert [key.name for key in outer.partitioning.keys] == ["g"]
    assert [key.name for key in inner.partitioning.keys] == ["g", "x"]


def test_no_group_by_ends_in_one_task_after_several():
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    plan = plan_physical(Aggregate(scan, (), (distinct("count", c["x"]),)), w.context("rdd"))
    assert exchanges(plan) == ["single", "hash [x"]


def test_several_sets_of_arguments_are_expanded():
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    items = (distinct("count", c["x"]), distinct("sum", c["x"]), distinct("count", c["s"]))
    (expand,) = (
        node
        for node in plan_physical(Aggregate(scan, (c["g"],), items), w.context("rdd")).walk()
        if isinstance(node, Expand)
    )
    assert len(expand.projections) == 2


def test_rows_that_lie_by_argument_are_not_moved():
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    inner = Aggregate(scan, (c["x"],), (distinct("count", c["g"]),))
    below = Aggregate(inner, (), (distinct("count", c["x"]),))
    plan = plan_physical(below, w.context("rdd"))
    assert exchanges(plan) == ["single", "hash [x", "hash [x"]
    assert _modes(plan)[:3] == ["final", "merge", "partial"]
    assert unordered(w.run(below, "rdd")) == [(1000,)]


@pytest.mark.parametrize(
    ("conf", "mode"), [({"shark_skew": "false"}, "complete"), ({"shark_skew_min_rows": "1000"}, "final"), ({}, "complete")]
)
def test_few_rows_take_one_step(conf: dict[str, str], mode: str):
    w = world(**conf)
    scan, c = w.scan("t")
    plan = plan_physical(Aggregate(scan, (c["g"],), (distinct("count", c["x"]),)), w.context("rdd"))
    assert plan.mode is AggregateMode(mode)


@pytest.mark.parametrize("function", ["percentile", "first"])
def test_aggregates_without_states_take_one_step(function: str):
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    args = (c["y"], Literal(0.5, DOUBLE)) if function == "percentile" else (c["y"],)
    items = (distinct("count", c["x"]), aggregate(function, *args, dtype=DOUBLE))
    assert _modes(plan_physical(Aggregate(scan, (c["g"],), items), w.context("rdd"))) == ["complete"]


def test_lists_of_distinct_values_are_whole():
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    items = (distinct("collect_list", c["x"], dtype=ArrayType(BIGINT)), distinct("count", c["s"]))
    for groups in ((), (c["h"],)):
        (row,) = unordered(w.run(Aggregate(scan, groups, items), "rdd"))
        assert sorted(row[-2]) == list(range(1000))


def test_tasks_of_the_first_level_share_a_heavy_group():
    w = world(shark_test_skew="true", shark_exchange_buckets="4")
    scan, c = w.scan("t")
    plan = plan_physical(Aggregate(scan, (c["g"],), (distinct("count", c["x"]),)), w.context("rdd"))
    from tests.physical.simulate import Runner

    runner = Runner(w)
    inner = [node for node in plan.walk() if isinstance(node, Exchange)][-1]
    runner.run_exchange(inner)
    sizes = sorted(bucket.num_rows for bucket in runner.buckets[inner.exchange_id])
    assert sum(sizes) == 1000
    assert sizes[-1] <= 1.5 * sizes[1]
