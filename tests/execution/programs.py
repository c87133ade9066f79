"""Small hand-written stages."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.execution.engine import Engine
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_runner import StageRunner
from sharkpy.execution.statement import ProgressListener, ignore_progress
from sharkpy.optimizer.decisions import Place, Placement
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import ResultSink, StageInput, StageProgram, StageSink, TaskInput
from sharkpy.values.types import BIGINT, STRING, Field, Schema

SCHEMA = Schema((Field("c0", BIGINT), Field("c1", STRING)))
RESULT = ResultSink()


def numbers(count: int, *, sink: StageSink = RESULT, tasks: int = 2) -> Stage:
    """Stage whose tasks each yield (0, "s0"), (1, "s1"), …"""
    return stage(f"SELECT range AS c0, 's' || range AS c1 FROM range({count})", sink=sink, tasks=tasks)


def stage(
    sql: str, *inputs: StageInput, sink: StageSink = RESULT, tasks: int = 1, singles: frozenset[int] = frozenset()
) -> Stage:
    return Stage(StageProgram(sql, inputs, SCHEMA, sink), (TaskInput(),) * tasks, "test", singles)


def in_driver(stage: Stage) -> Stage:
    return replace(stage, placement=Placement(Place.DRIVER, "the test asks for it"))


def stage_runner(engine: Engine, progress: ProgressListener = ignore_progress) -> StageRunner:
    return StageRunner(QueryRun(engine, progress))
