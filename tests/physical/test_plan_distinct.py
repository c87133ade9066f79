"""DISTINCT aggregates in two levels: the same result as in one step, and a heavy group shared among tasks."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.optimizer.context import ColumnEstimate
from sharkpy.physical import plan_aggregate
from sharkpy.physical.operators import Exchange, Expand, HashAggregate
from sharkpy.physical.plan import HashPartitioning, PhysicalPlan
from sharkpy.physical.plan_aggregate import Levels
from sharkpy.physical.plan_context import PlanContext
from sharkpy.physical.planner import plan_physical
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT, ArrayType, DataType
from tests.physical.simulate import Runner, World, ids, unordered

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
    """Aggregates with DISTINCT of every kind and argument."""
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


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(data=st.data(), rows=ROWS)
def test_two_levels_give_what_one_step_gives(data: st.DataObject, rows: list[tuple]) -> None:
    table = pa.Table.from_pylist([dict(zip(TABLE.names, row, strict=True)) for row in rows], TABLE)
    world = World({"t": table})
    step = World({"t": table}, conf=Conf({"shark.skew": "false"}))
    scan, c = world.scan("t")
    groups = data.draw(st.sampled_from(((), (c["g"],), (c["g"], c["h"]), (Alias(_doubled(c), next(ids), "d"),))))
    chosen = data.draw(st.lists(st.sampled_from(_distinct(c)), min_size=1, max_size=3, unique=True))
    plain = data.draw(st.lists(st.sampled_from(_plain(c)), max_size=3, unique=True))
    items = tuple(data.draw(st.permutations([*chosen, *plain])))
    plan = Aggregate(scan, groups, items)
    levels = data.draw(st.sampled_from(Levels))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_aggregate, "choose_levels", lambda _node, _context: levels)
        physical = plan_physical(plan, world.context("rdd")).root
    assert _modes(physical) == ["final", *(["merge", "partial"] if levels is Levels.PAIRS else ["partial"])]
    assert _modes(plan_physical(plan, step.context("rdd")).root) == ["complete"]
    got = unordered(world.execute(physical, use_replan=data.draw(st.booleans())))
    assert _rounded(got) == _rounded(unordered(step.run(plan, "rdd")))


class Figures:
    """Figures of a million rows and the given number of values of each column."""

    def __init__(self, **ndv: float) -> None:
        self.ndv = ndv

    def num_rows(self, _table: Table) -> int:
        return 1_000_000

    def column(self, _table: Table, name: str) -> ColumnEstimate | None:
        return ColumnEstimate(self.ndv[name]) if name in self.ndv else None


FEW = Figures(g=2, h=2, x=10, y=10, s=10)
MANY = Figures(g=2, h=2, x=1_000_000, y=1_000_000, s=1_000_000)
UNKNOWN = Figures()


def _context(world: World, figures: Figures = UNKNOWN) -> PlanContext:
    return replace(world.context("rdd"), statistics=figures)


def _planned(plan: Aggregate, figures: Figures, **conf: str) -> PhysicalPlan:
    return plan_physical(plan, _context(world(**conf), figures)).root


def _modes(plan: PhysicalPlan) -> list[str]:
    return [node.mode.value for node in plan.walk() if isinstance(node, HashAggregate)]


def world(**conf: str) -> World:
    skewed = {"g": [7] * 900 + list(range(100)), "h": ["a"] * 1000, "x": list(range(1000))}
    table = pa.table({**skewed, "y": [0.5] * 1000, "s": ["u"] * 1000}, TABLE)
    return World({"t": table}, conf=Conf({key.replace("_", "."): value for key, value in conf.items()}))


def exchanges(plan: PhysicalPlan) -> list[list[str]]:
    """Names of the columns by which rows move, from above; none for a move to one task."""
    found = [node.partitioning for node in plan.walk() if isinstance(node, Exchange)]
    return [[key.name for key in one.keys] if isinstance(one, HashPartitioning) else [] for one in found]


def test_pairs_move_by_group_and_argument_then_states_by_group():
    scan, c = world().scan("t")
    plan = _planned(Aggregate(scan, (c["g"],), (distinct("count", c["x"]), aggregate("count"))), FEW)
    labels = [node.label.split(" computing")[0] for node in plan.walk() if isinstance(node, HashAggregate)]
    g, x = str(c["g"]), str(c["x"])
    assert labels == [
        f"HashAggregate final by [{g}]",
        f"HashAggregate merge by [{g}]",
        f"HashAggregate partial by [{g}, {x}]",
    ]
    assert exchanges(plan) == [["g"], ["g", "x"]]


def test_without_groups_states_of_several_tasks_meet_in_one():
    scan, c = world().scan("t")
    plan = _planned(Aggregate(scan, (), (distinct("count", c["x"]),)), Figures(x=1_000_000))
    assert exchanges(plan) == [[], ["x"]]
    assert _modes(plan) == ["final", "partial"]


def test_several_sets_of_arguments_are_expanded():
    scan, c = world().scan("t")
    items = (distinct("count", c["x"]), distinct("sum", c["x"]), distinct("count", c["s"]))
    plan = _planned(Aggregate(scan, (c["g"],), items), FEW)
    (expand,) = (node for node in plan.walk() if isinstance(node, Expand))
    assert len(expand.projections) == 2


def test_rows_that_lie_by_argument_are_not_moved():
    w = world()
    scan, c = w.scan("t")
    inner = Aggregate(scan, (c["x"],), (aggregate("count"),))
    below = Aggregate(inner, (), (distinct("count", c["x"]),))
    plan = _planned(below, UNKNOWN)
    assert exchanges(plan) == [[], ["x"]]
    assert _modes(plan) == ["final", "partial", "final", "partial"]
    assert unordered(w.execute(plan)) == [(1000,)]


@pytest.mark.parametrize(
    ("figures", "conf", "modes"),
    [
        (Figures(g=100, x=100), {}, ["final", "merge", "partial"]),
        (Figures(g=100, x=100), {"shark_skew": "false"}, ["complete"]),
        (Figures(g=100, x=100), {"shark_skew_min_rows": "2m"}, ["complete"]),
        (Figures(g=100, x=100_000), {}, ["final", "partial"]),
        (Figures(g=100), {}, ["final", "merge", "partial"]),
        (Figures(x=100), {}, ["final", "merge", "partial"]),
        (Figures(g=100_000), {}, ["complete"]),
        (Figures(g=100_000, x=100_000), {}, ["complete"]),
        (Figures(g=100_000, x=100_000), {"shark_test_skew": "true"}, ["final", "partial"]),
    ],
)
def test_levels_are_chosen_by_statistics_of_one_argument(figures: Figures, conf: dict[str, str], modes: list[str]):
    scan, c = world().scan("t")
    plan = _planned(Aggregate(scan, (c["g"],), (distinct("count", c["x"]),)), figures, **conf)
    assert _modes(plan) == modes


@pytest.mark.parametrize(
    ("figures", "cores", "modes"),
    [
        (Figures(g=100, x=100, s=100), 2, ["final", "merge", "partial"]),
        (Figures(g=100, x=100, s=100_000), 2, ["final", "merge", "partial"]),
        (Figures(g=100, x=100_000, s=100_000), 2, ["complete"]),
        (Figures(g=100, x=100_000, s=100_000), 3, ["final", "partial"]),
        (Figures(g=100_000, x=2, s=100_000), 2, ["complete"]),
    ],
)
def test_levels_are_chosen_by_statistics_of_several(figures: Figures, cores: int, modes: list[str]):
    w = world()
    scan, c = w.scan("t")
    items = (distinct("count", c["x"]), distinct("count", c["s"]))
    context = replace(_context(w, figures), default_parallelism=cores)
    assert _modes(plan_physical(Aggregate(scan, (c["g"],), items), context).root) == modes


@pytest.mark.parametrize("function", ["approx_count_distinct", "first"])
def test_aggregates_without_states_take_one_step(function: str):
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    items = (distinct("count", c["x"]), aggregate(function, c["y"], dtype=DOUBLE))
    assert _modes(plan_physical(Aggregate(scan, (c["g"],), items), w.context("rdd")).root) == ["complete"]


@pytest.mark.parametrize("figures", [FEW, MANY])
def test_lists_of_distinct_values_are_whole(figures: Figures):
    w = world(shark_test_skew="true")
    scan, c = w.scan("t")
    items = (distinct("collect_list", c["x"], dtype=ArrayType(BIGINT)), distinct("count", c["s"]))
    for groups in ((), (c["h"],)):
        (row,) = unordered(w.execute(plan_physical(Aggregate(scan, groups, items), _context(w, figures)).root))
        assert sorted(row[-2]) == list(range(1000))


@pytest.mark.parametrize("figures", [FEW, MANY])
def test_tasks_share_a_heavy_group(figures: Figures):
    """Nine rows of ten are of one group."""
    w = world(shark_exchange_buckets="4")
    scan, c = w.scan("t")
    plan = plan_physical(Aggregate(scan, (c["g"],), (distinct("count", c["x"]),)), _context(w, figures)).root
    inner = [node for node in plan.walk() if isinstance(node, Exchange)][-1]
    runner = Runner(w)
    runner.run_exchange(inner)
    sizes = sorted(bucket.num_rows for bucket in runner.buckets[inner.exchange_id])
    assert sum(sizes) == 1000
    assert sizes[-1] <= 1.5 * sizes[1]
