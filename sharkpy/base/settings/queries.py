"""Settings of running queries: limits, turns, pools, and the batches of a result."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

QUERY_TIMEOUT = Setting(
    "shark.query.timeout", 0.0, "Seconds that a statement may take, the time its rows wait for a reader aside; 0: any."
)
QUERY_MEMORY = Setting(
    "shark.query.memory",
    0,
    "Bytes a query may use in the driver: above, DuckDB spills to disk, and what cannot ends in an error; 0: any.",
    is_guarded=True,
)
QUERY_CONCURRENT = Setting(
    "shark.query.max.concurrent",
    0,
    "Queries that run at once, short ones aside; 0: half as many as there are cores, and more after ten seconds.",
    is_guarded=True,
)
QUERY_SHORT_ROWS = Setting(
    "shark.query.short.max.rows",
    1_000_000,
    "Rows that a query's operators take in, as estimated, up to which it waits for other short queries alone.",
    is_guarded=True,
)
QUERY_QUEUE = Setting(
    "shark.query.queue.max", 1000, "Queries that may wait for their turn; 0: none may.", is_guarded=True
)
QUERY_QUEUE_TIMEOUT = Setting(
    "shark.query.queue.timeout", 0.0, "Seconds that a query waits for its turn; 0: any.", is_guarded=True
)
POOL = Setting("shark.pool", "", "The session's share of the engine, by name; empty: one of its own.")
POOL_WEIGHT = Setting(
    "shark.pool.weight",
    1,
    "How much of the engine the pool gets beside others of weight 1.",
    is_guarded=True,
    least=1,
    most=1_000_000,
)
RECURSION_LIMIT = Setting(
    "shark.recursion.limit",
    100,
    "Steps that a WITH RECURSIVE may take.",
    synonyms=("spark.sql.cteRecursionLevelLimit",),
    least=1,
    most=10_000,
)
RESULT_BATCH_ROWS = Setting(
    "shark.result.batch.rows", 65_536, "Rows of a batch of a result.", least=1, most=(1 << 31) - 1
)
VALUE_BYTES = Setting(
    "shark.value.bytes",
    256 << 20,
    "Bytes that a function may make one value of, an array or map with all in it; checked before it is made.",
    is_guarded=True,
    least=64 << 10,
)
