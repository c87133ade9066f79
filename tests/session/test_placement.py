"""The reported place of statements is the real one: in the plan, among the decisions, and of each stage."""

from __future__ import annotations

import pytest

import sharkpy
from sharkpy.execution.stages.profile import QueryProfile

ONE_STAGE = {"shark.task.single.max.bytes": 0, "shark.block.rows": 10}


pytestmark = pytest.mark.settings(ONE_STAGE)


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE n TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT explode(sequence(1, 40)) AS k")
    return context


def placement_of(profile: QueryProfile) -> str:
    """The planner's decision."""
    (decision,) = (one for one in profile.decisions if one.rule == "placement" and one.is_planned)
    return decision.text


def run(context: sharkpy.SharkContext, text: str) -> QueryProfile:
    result = context.sql(text)
    result.fetchall()
    return result.profile


def test_rows_of_this_process_are_reported_where_they_run(context: sharkpy.SharkContext) -> None:
    with (
        context.new_session(shark_placement_driver=False) as session,
        session.observers.collecting_profiles() as profiles,
    ):
        session.save_as_table([(1, "a")], "t", ["id", "s"], cache="MEMORY_ONLY")
    (profile,) = profiles
    assert placement_of(profile).startswith("the query runs as one stage in the driver: rows of a Python program")
    assert [stage.placement for stage in profile.stages] == ["driver"]
    assert not context.engine.is_spark_started


@pytest.mark.spark
def test_rows_of_an_rdd_are_reported_where_they_run(context: sharkpy.SharkContext) -> None:
    rdd = context.engine.jobs.context.parallelize([(1, "a"), (2, "b")], 2)
    with context.observers.collecting_profiles() as profiles:
        assert context.save_as_table(rdd, "t", "id bigint, s string", cache="MEMORY_ONLY") == 2
    (profile,) = profiles
    assert placement_of(profile).startswith("the query runs as 1 stage of RDD tasks: rows of a Python program")
    assert [stage.placement for stage in profile.stages] == ["rdd"]


def test_a_small_query_is_placed_by_its_bytes(context: sharkpy.SharkContext) -> None:
    profile = run(context, "SELECT sum(k) FROM n")
    (decision,) = (one for one in profile.decisions if one.rule == "placement")
    assert decision.text == "the query runs as one stage in the driver: the input is local and below the limit"
    assert set(dict(decision.figures)) == {"bytes scanned", "limit"}
    assert [stage.placement for stage in profile.stages] == ["driver"]


@pytest.mark.variants(3)
@pytest.mark.spark
@pytest.mark.parametrize(
    ("conf", "reason"),
    [
        ({"shark_placement_driver": False}, "placement in the driver is off"),
        ({"shark_placement_driver_max_bytes": 1}, "the input is above the limit"),
    ],
)
@pytest.mark.parametrize(
    "text",
    ["SELECT k FROM n", "SELECT k % 3, count(*) FROM n GROUP BY k % 3", "SELECT k FROM n ORDER BY k DESC LIMIT 3"],
)
def test_what_is_decided_is_what_runs(
    context: sharkpy.SharkContext, conf: dict[str, object], reason: str, text: str
) -> None:
    with context.new_session(**conf) as session:
        profile = run(session, text)
        explained = "\n".join(row[0] for row in session.sql(f"EXPLAIN {text}").fetchall())
    planned = placement_of(profile)
    assert reason in planned
    assert planned.removeprefix("the query runs as ").partition(":")[0] in explained
    revised = [one for one in profile.decisions if one.rule == "placement" and not one.is_planned]
    elsewhere = [stage for stage in profile.stages if stage.placement == "driver"]
    assert len(revised) == len(elsewhere)
    assert not elsewhere or reason == "the input is above the limit"
    for decision, stage in zip(revised, elsewhere, strict=True):
        assert decision.text.startswith(f"{stage.label} runs in the driver: ")


@pytest.mark.spark
def test_a_decision_is_revised_by_what_the_driver_holds(context: sharkpy.SharkContext) -> None:
    with context.new_session(shark_placement_driver_max_bytes=1, shark_pruning=False) as session:
        profile = run(session, "SELECT k FROM n ORDER BY k DESC LIMIT 3")
    assert [stage.placement for stage in profile.stages] == ["rdd", "driver"]
    (revised,) = (one for one in profile.decisions if one.rule == "placement" and not one.is_planned)
    assert revised.text.endswith("runs in the driver: one task reads rows that the driver holds")
    assert dict(revised.figures)["rows held"] >= 3
