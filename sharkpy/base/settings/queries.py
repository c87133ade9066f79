"""Settings of running queries: limits, turns, pools, and the batches of a result."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

QUERY_TIMEOUT = Setting(
    "shark.query.timeout",
    0.0,
    "Seconds that a statement may take, not counting the time that its rows wait for a reader. 0: no limit.",
)
QUERY_MEMORY = Setting(
    "shark.query.memory",
    0,
    "Bytes of memory for one query in the driver. Beyond this limit DuckDB spills to disk; operators that"
    " cannot spill fail. 0: no limit of its own.",
    is_guarded=True,
)
QUERY_CONCURRENT = Setting(
    "shark.query.max.concurrent",
    0,
    "Queries that run at once, not counting short ones. 0: half the number of cores, and more after ten seconds.",
    is_guarded=True,
)
QUERY_SHORT_ROWS = Setting(
    "shark.query.short.max.rows",
    1_000_000,
    "Maximum estimated rows that the operators of a short query read. A short query waits only for other short"
    " queries.",
    is_guarded=True,
)
QUERY_QUEUE = Setting("shark.query.queue.max", 1000, "Queries that may wait for their turn. 0: none.", is_guarded=True)
QUERY_QUEUE_TIMEOUT = Setting(
    "shark.query.queue.timeout", 0.0, "Seconds that a query waits for its turn. 0: no limit.", is_guarded=True
)
POOL = Setting(
    "shark.pool", "", "Name of the pool whose share of the engine the session uses. Empty: a pool of its own."
)
POOL_WEIGHT = Setting(
    "shark.pool.weight",
    1,
    "Weight of the pool. A pool of weight 2 gets twice the share of a pool of weight 1.",
    is_guarded=True,
    least=1,
    most=1_000_000,
)
RECURSION_LIMIT = Setting(
    "shark.recursion.limit",
    100,
    "Maximum steps of a WITH RECURSIVE query.",
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
    "Maximum bytes of one value that a function makes, including everything in an array or map. The limit is"
    " checked before the value is made.",
    is_guarded=True,
    least=64 << 10,
)
