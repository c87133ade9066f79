"""Places of the rows of steps, and lowering of a stage with steps."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from sharkpy.base.settings import Conf
from sharkpy.columnar.store import BlockStore
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import Exchange, StepOperator
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_step import runs_scripts
from sharkpy.physical.planner import plan_physical
from sharkpy.physical.stage_program import BlockColumns, ResultSink, StepColumns
from sharkpy.plan.expr import Call, ColumnRef, Literal, SortKey
from sharkpy.plan.logical import Distribute, Filter, LogicalPlan, Project, Sort, Step
from sharkpy.plan.row_steps import RowStep
from sharkpy.values.types import BIGINT, BOOLEAN
from tests.physical.simulate import World, cached

FACTS = pa.table({"k": pa.array([i % 7 for i in range(900)], pa.int64()), "v": pa.array(range(900), pa.int64())})
X, Y = ColumnRef(901, "x", BIGINT), ColumnRef(902, "y", BIGINT)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    store = BlockStore(1 << 30, str(tmp_path_factory.mktemp("shm")), str(tmp_path_factory.mktemp("local")))
    conf = Conf({"shark.task.single.max.rows": "100", "shark.sort.single.max.rows": "0"})
    yield World({"facts": FACTS}, conf=conf, versions={"facts": cached(store, FACTS, 3, "")})
    store.close()


def planned(world: World, plan: LogicalPlan, placement: str = "rdd") -> PhysicalPlan:
    return plan_physical(plan, world.context(placement)).root


def exchanges(plan: PhysicalPlan) -> list[str]:
    return [str(node.partitioning).split(" into")[0] for node in plan.walk() if isinstance(node, Exchange)]


def test_rows_are_not_moved_for_a_step(world: World) -> None:
    facts, f = world.scan("facts")
    plan = planned(world, Step(facts, RowStep(), (f["k"],), (X,)))
    assert exchanges(plan) == []
    assert str(plan.distribution) == "any"


def test_distribute_and_order_below_a_step_are_kept(world: World) -> None:
    facts, f = world.scan("facts")
    ordered = Sort(Distribute(facts, (f["k"],)), (SortKey(f["v"]),), is_global=False)
    plan = planned(world, Step(ordered, RowStep(), (f["v"],), (X,), (f["k"],)))
    assert exchanges(plan) == [f"hash [{f['k']}]"]
    assert str(plan.distribution).startswith("hash")
    gone = planned(world, Step(ordered, RowStep(), (f["v"],), (X,)))
    assert str(gone.distribution) == "any"


def test_a_total_order_below_a_step_is_that_of_one_task(world: World) -> None:
    facts, f = world.scan("facts")
    ordered = Project(
        Filter(Sort(facts, (SortKey(f["v"]),)), Call("gt", (f["k"], Literal(1, BIGINT)), BOOLEAN)), (f["k"],)
    )
    plan = planned(world, Step(ordered, RowStep(), (f["k"],), (X,)))
    assert exchanges(plan) == ["single"]


def test_a_sort_above_a_step_takes_no_sample_of_it(world: World) -> None:
    facts, f = world.scan("facts")
    plan = planned(world, Sort(Step(facts, RowStep(), (f["k"],), (X,)), (SortKey(X),)))
    assert exchanges(plan) == ["single"]
    assert exchanges(planned(world, Sort(facts, (SortKey(f["k"]),)))) == [f"range [{f['k']} ASC]"]


def test_relations_of_queries_within_each_other_have_names_of_their_own(world: World) -> None:
    facts, f = world.scan("facts")
    inner = Step(facts, RowStep(), (f["k"],), (X,))
    plan = planned(world, Step(inner, RowStep(), (X,), (Y,)), "driver")
    lowered = lower_stage(plan, ResultSink())
    (upper,) = lowered.program.inputs
    assert isinstance(upper, StepColumns)
    (lower,) = upper.program.inputs
    assert isinstance(lower, StepColumns)
    (data,) = lowered.program.data_inputs
    assert isinstance(data, BlockColumns)
    assert len({upper.relation, lower.relation, data.relation}) == 3
    assert [name for name, _ in lowered.leaves] == [data.relation, lower.relation, upper.relation]
    assert [name for name, _ in lowered.tasks[0].blocks] == [data.relation]


def test_a_plain_step_runs_no_script(world: World) -> None:
    facts, f = world.scan("facts")
    plan = planned(world, Step(facts, RowStep(), (f["k"],), (X,)))
    assert isinstance(plan, StepOperator)
    assert not runs_scripts(plan)
