"""Filters learned from build sides: never a different answer; fewer blocks if the keys allow it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.settings import Conf
from sharkpy.columnar.store import BlockStore
from sharkpy.execution.stages.plan_runner import MOST_VALUES, key_values
from sharkpy.physical import build_side_filters
from sharkpy.physical.build_side_filters import with_early_build_side
from sharkpy.physical.learned_filters import KeyValues, learn_filters
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import BlockScan, ExchangeRead
from sharkpy.physical.plan import ExchangeStatistics, PhysicalPlan
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.replan import Decision, replan
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange
from sharkpy.physical.stage_program import ResultSink
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, conjunction
from sharkpy.plan.logical import LATERAL_JOINS, Aggregate, Join, JoinKind, LogicalPlan, Union
from sharkpy.values.types import BIGINT, BOOLEAN, INT
from tests.physical.simulate import Runner, World, cached, connect, ids, unordered

EARLY = 1000
KINDS = sorted(set(JoinKind) - {JoinKind.CROSS, *LATERAL_JOINS}, key=lambda kind: kind.value)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockStore]:
    folder: Path = tmp_path_factory.mktemp("blocks")
    made = BlockStore(1 << 28, str(folder / "shm"), str(folder / "local"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def small_counts_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_side_filters, "_LEAST_PROBE_ROWS", 0)
    monkeypatch.setattr(build_side_filters, "_LEAST_PROBE_BLOCKS", 2)


class Learner:
    """Runner of plans that learns after every exchange, as the engine does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.runner = Runner(world)
        self.decisions: list[Decision] = []
        self.plan: PhysicalPlan | None = None

    def run(self, plan: PhysicalPlan) -> pa.Table:
        exchange_id = EARLY
        while (early := with_early_build_side(plan, exchange_id)) is not None:
            wrapped, exchange = early
            parts = self.runner.run_stage(exchange.child, lower_stage(exchange.child, ResultSink()))
            self.runner.buckets[exchange_id] = parts
            observed = ExchangeStatistics(sum(part.num_rows for part in parts), (sum(part.nbytes for part in parts),))
            plan = self.learn(replace_exchange(wrapped, exchange_id, read_of(exchange, observed)))
            exchange_id += 1
        while (exchange := next_exchange(plan)) is not None:
            observed = self.runner.run_exchange(exchange)
            plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, observed))
            plan, _ = replan(plan, {exchange.exchange_id: observed}, self.world.conf)
            plan = self.learn(plan)
        self.plan = plan
        return pa.concat_tables(self.runner.run_stage(plan, lower_stage(plan, ResultSink())))

    def learn(self, plan: PhysicalPlan) -> PhysicalPlan:
        plan, decisions = learn_filters(plan, self.key_values)
        self.decisions += decisions
        return plan

    def key_values(self, read: ExchangeRead, key: Expr) -> KeyValues | None:
        rows = pa.concat_tables(self.runner.buckets[read.exchange_id])
        return key_values(read, key, rows, connect())


def outcome(run: object) -> object:
    """Rows in one order, or the mark of an error: the first one of several errors is not defined."""
    import duckdb

    try:
        return unordered(run())  # type: ignore[operator]
    except duckdb.Error:
        return "error"


def dates(values: list[int | None]) -> list[datetime.date | None]:
    return [None if value is None else datetime.date(2020, 1, 1) + datetime.timedelta(value) for value in values]


def make(values: list[int | None], kind: str) -> pa.Array:
    match kind:
        case "date":
            return pa.array(dates(values), pa.date32())
        case "string":
            return pa.array([None if value is None else f"k{value:02}" for value in values], pa.string())
        case "decimal":
            return pa.array([None if v is None else Decimal(v) / 2 for v in values], pa.decimal128(10, 2))
        case "float64":
            found = [None if v is None else (float("nan") if v == 7 else -0.0 if v == 0 else v / 2) for v in values]
            return pa.array(found, pa.float64())
    return pa.array(values, getattr(pa, kind)())


NUMBERS = ("int8", "int32", "int64", "decimal", "float64")
TYPES = [(kind, kind) for kind in (*NUMBERS, "date", "string")]
TYPES += [(one, other) for one in NUMBERS for other in NUMBERS if one != other]
keys = st.lists(st.none() | st.integers(0, 12), max_size=30)


@st.composite
def sides(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    kinds = [draw(st.sampled_from(TYPES)) for _ in range(2)]
    left, right = sorted(draw(keys), key=lambda key: -1 if key is None else key), draw(keys)

    def table(values: list[int | None], side: int) -> pa.Table:
        second = [None if value is None else value % 5 for value in reversed(values)]
        return pa.table(
            {
                "k": make(values, kinds[0][side]),
                "m": make(second, kinds[1][side]),
                "v": pa.array(range(len(values)), pa.int32()),
            }
        )

    return table(left, 0), table(right, 1)


def probe_side(w: World, shape: str) -> tuple[LogicalPlan, dict[str, ColumnRef]]:
    scan, columns = w.scan("left")
    if shape == "grouped":
        most = Alias(AggregateCall("max", (columns["v"],), INT), next(ids), "v")
        plan: LogicalPlan = Aggregate(scan, (columns["k"], columns["m"]), (most,))
        return plan, {**columns, "v": most.ref}
    if shape == "union":
        other, _ = w.scan("left")
        output = tuple(ColumnRef(next(ids), column.name, column.dtype) for column in scan.columns)
        return Union((scan, other), output), dict(zip(columns, output, strict=True))
    return scan, columns


def equal(left: ColumnRef, right: ColumnRef, null_safe: bool = False) -> Expr:
    return Call("eq_null_safe" if null_safe else "eq", (left, right), BOOLEAN)


@pytest.mark.variants(3)
@settings(max_examples=12, deadline=None)
@given(
    data=sides(),
    num_blocks=st.integers(1, 5),
    shape=st.sampled_from(["scan", "grouped", "union"]),
    placement=st.sampled_from(["driver", "rdd"]),
    forced=st.sampled_from(["", "shuffle"]),
    num_keys=st.integers(1, 2),
    null_safe=st.booleans(),
    limit=st.none() | st.integers(-1, 14),
    mirrored=st.booleans(),
)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
def test_the_answer_is_that_without_learning(
    store, kind, data, num_blocks, shape, placement, forced, num_keys, null_safe, limit, mirrored
):
    w = World({"left": data[0], "right": data[1]}, conf=Conf({"shark.test.join": forced, "shark.kernels": "never"}))
    w.versions = {name: cached(store, table, num_blocks) for name, table in w.tables.items()}
    left, lc = probe_side(w, shape)
    predicate = None
    right, rc = w.scan("right")
    if limit is not None:
        predicate = Call("lt", (rc["v"], Literal(limit, INT)), BOOLEAN)
        right = type(right)(right.table, right.columns, right.names, predicate)
    terms = [equal(lc["k"], rc["k"], null_safe), *([equal(lc["m"], rc["m"])] if num_keys == 2 else [])]
    sided = (right, left) if mirrored else (left, right)
    plan = Join(*sided, kind, conjunction(terms))
    physical = plan_physical(plan, w.context(placement)).root
    w.conf.reset()
    expected = outcome(lambda: w.execute(physical))
    learner = Learner(w)
    assert outcome(lambda: learner.run(physical)) == expected


def facts(store: BlockStore, num_blocks: int = 5) -> World:
    """World of a table in the order of its key, and a small one with keys and a text."""
    fact = pa.table({"k": pa.array(range(100), pa.int32()), "v": pa.array(range(100), pa.int64())})
    dim = pa.table({"k": pa.array(range(0, 100, 7), pa.int64()), "n": [f"n{i}" for i in range(0, 100, 7)]})
    w = World({"fact": fact, "dim": dim})
    w.versions = {"fact": cached(store, fact, num_blocks), "dim": cached(store, dim, 1)}
    return w


def joined(w: World, text: str, kind: JoinKind = JoinKind.INNER) -> tuple[LogicalPlan, dict[str, ColumnRef]]:
    fact, f = w.scan("fact")
    dim, d = w.scan("dim")
    dim = type(dim)(dim.table, dim.columns, dim.names, Call("eq", (d["n"], Literal(text, d["n"].dtype)), BOOLEAN))
    return Join(fact, dim, kind, equal(f["k"], d["k"])), f


def fact_scan(plan: PhysicalPlan) -> BlockScan:
    return next(node for node in plan.walk() if isinstance(node, BlockScan) and node.table_name.endswith("fact"))


@pytest.mark.parametrize("placement", ["driver", "rdd"])
@pytest.mark.parametrize(("text", "blocks"), [("n42", 1), ("none", 0)])
def test_the_keys_prune_the_probe_side(store: BlockStore, placement: str, text: str, blocks: int) -> None:
    w = facts(store)
    plan, _ = joined(w, text)
    learner = Learner(w)
    rows = learner.run(plan_physical(plan, w.context(placement)).root)
    assert rows.num_rows == blocks
    assert learner.plan is not None
    assert len(fact_scan(learner.plan).blocks.blocks) == blocks
    figures = dict(learner.decisions[0].figures)
    assert figures == {"rows of the build side": blocks, "keys": blocks, "blocks before": 5, "after": blocks}
    assert learner.decisions[0].rule == "learned_filter"


def test_rows_are_filtered_where_they_would_be_grouped_first(store: BlockStore) -> None:
    w = facts(store)
    fact, f = w.scan("fact")
    total = Alias(AggregateCall("sum", (f["v"],), BIGINT), next(ids), "s")
    dim, d = w.scan("dim")
    dim = type(dim)(dim.table, dim.columns, dim.names, Call("eq", (d["n"], Literal("n7", d["n"].dtype)), BOOLEAN))
    grouped = Aggregate(fact, (f["k"],), (total,))
    learner = Learner(w)
    rows = learner.run(
        plan_physical(Join(grouped, dim, JoinKind.INNER, equal(f["k"], d["k"])), w.context("driver")).root
    )
    assert rows.num_rows == 1
    assert learner.plan is not None
    assert str(fact_scan(learner.plan).predicate) == f"in(cast(k#{f['k'].column_id} as bigint), 7)"


def test_a_side_whose_rows_all_appear_is_left_alone(store: BlockStore) -> None:
    w = facts(store)
    for kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.SINGLE):
        plan, _ = joined(w, "none", kind)
        learner = Learner(w)
        assert learner.run(plan_physical(plan, w.context("driver")).root).num_rows == 100
        assert learner.decisions == []


@pytest.mark.parametrize("placement", ["driver", "rdd"])
def test_a_null_among_what_not_in_looks_at_is_not_lost(store: BlockStore, placement: str) -> None:
    """The NULL is the only value of its block: no key is there, and still it decides."""
    w = facts(store)
    with_null = pa.table({"k": pa.array([None] * 20 + list(range(50, 130)), pa.int64())})
    w.tables["probe"], w.versions["probe"] = with_null, cached(store, with_null, 5)
    dim, d = w.scan("dim")
    dim = type(dim)(dim.table, dim.columns, dim.names, Call("eq", (d["n"], Literal("n42", d["n"].dtype)), BOOLEAN))
    probe, p = w.scan("probe")
    plan = Join(dim, probe, JoinKind.NULL_AWARE_ANTI, equal(d["k"], p["k"]))
    assert Learner(w).run(plan_physical(plan, w.context(placement)).root).num_rows == 0


def test_a_key_in_no_order_is_not_run_early(store: BlockStore) -> None:
    w = facts(store)
    shuffled = pa.table({"k": pa.array([(i * 37) % 100 for i in range(100)], pa.int32()), "v": pa.array(range(100))})
    w.tables["fact"], w.versions["fact"] = shuffled, cached(store, shuffled, 5)
    plan, _ = joined(w, "n42")
    assert with_early_build_side(plan_physical(plan, w.context("driver")).root, EARLY) is None


def test_many_keys_are_known_by_their_bounds() -> None:
    column = ColumnRef(1, "k", BIGINT)
    read = ExchangeRead(1, (column,), None)  # type: ignore[arg-type]
    few = key_values(read, column, pa.table({"c1": pa.array([3, None, 1, 3], pa.int64())}), connect())
    many = key_values(read, column, pa.table({"c1": pa.array(range(MOST_VALUES + 10), pa.int64())}), connect())
    none = key_values(read, column, pa.table({"c1": pa.array([None], pa.int64())}), connect())
    assert few == KeyValues((1, 3), 1, 3, True)
    assert many == KeyValues(None, 0, MOST_VALUES + 9, False)
    assert none == KeyValues((), None, None, True)
    assert none.is_empty
