"""Join of a heavy key on real Spark: its rows are read by several tasks, each row once."""

from __future__ import annotations

import pytest

from sharkpy.execution.engine import Engine
from sharkpy.physical.plan import DealtBuckets, spread_buckets
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import ExchangeColumns, HashSink, ResultSink, Spread, StageProgram, TaskInput

from .programs import SCHEMA, stage, stage_runner

pytestmark = pytest.mark.spark

# Zipf(1.5) over ranks, by the inverse of its tail: rank 1 has about two rows of three.
ZIPF = "SELECT least(floor(1 / pow((range + 0.5) / 20000, 2)), 400)::BIGINT AS c0, 's' || range AS c1 FROM range(20000)"
BUCKETS = 4


def test_a_heavy_key_is_joined_by_several_tasks(spark_engine: Engine) -> None:
    runner = stage_runner(spark_engine)
    sink = HashSink(("c0",), BUCKETS, Spread(BUCKETS, 100))
    left = runner.rdd.exchange(stage(ZIPF, sink=sink, tasks=2), 1, 2 * BUCKETS)
    runner.rdd.exchange(
        stage("SELECT range AS c0, 'd' AS c1 FROM range(401)", sink=HashSink(("c0",), BUCKETS)), 2, BUCKETS
    )
    (key,) = left.spread_keys
    assert left.rows == sum(left.rows_per_bucket) == 40_000
    assert len(left.bytes_per_bucket) == 2 * BUCKETS
    pieces = spread_buckets(key.key_hash, key.pieces, BUCKETS)
    plain = tuple((bucket,) for bucket in range(BUCKETS))
    again = range(BUCKETS, BUCKETS + len(pieces))
    dealt = (
        (1, DealtBuckets((*plain, *((BUCKETS + piece,) for piece in pieces)), range(0), is_apart=True)),
        (2, DealtBuckets((*plain, *((key.key_hash % BUCKETS,) for _ in pieces)), again, is_apart=True)),
    )
    known = frozenset({key.key_hash})
    inputs = (ExchangeColumns("in0", 1, SCHEMA, known), ExchangeColumns("in1", 2, SCHEMA, frozenset()))
    sql = "SELECT count(*) AS c0, min(b.c1) AS c1 FROM in0 a JOIN in1 b ON a.c0 = b.c0"
    program = StageProgram(sql, inputs, SCHEMA, ResultSink())
    tasks = (TaskInput(),) * (BUCKETS + len(pieces))
    found = [row for batch in runner.batches(Stage(program, tasks, dealt=dealt)) for row in batch.column(0).to_pylist()]
    runner.close()
    assert sum(found) == 40_000
    assert max(found) < 40_000 / 3
    assert [decision.rule for decision in runner.run.profile.decisions] == ["pack_buckets"]
    assert dict(runner.run.profile.decisions[0].figures)["largest task"] < sum(left.bytes_per_bucket)
