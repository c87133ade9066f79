"""Settings of the planner: pruning, placement, joins, skew, and how many tasks a stage has."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

EXCLUDED_RULES = Setting(
    "shark.optimizer.excluded.rules", "", "Rules of the optimizer to do without, by name; several with commas."
)
CHECK_RULES = Setting(
    "shark.test.rules", False, "Check the plan after each rule of the optimizer (tests).", is_guarded=True
)
CHECK_STAGES = Setting(
    "shark.test.stages",
    False,
    "Check each stage that is kept for other rows against a new plan (tests).",
    is_guarded=True,
)
PRUNING = Setting("shark.pruning", True, "Skip blocks by their statistics.")
LEARNED_FILTERS = Setting(
    "shark.pruning.learned", True, "Prune the scans a join probes by the keys its other side turned out to have."
)
STATISTICS_ANSWERS = Setting("shark.statistics.answers", True, "Answer count, min and max from statistics alone.")
DRIVER_PLACEMENT = Setting("shark.placement.driver", True, "Run small local stages in the driver's process.")
DRIVER_PLACEMENT_BYTES = Setting(
    "shark.placement.driver.max.bytes", 8 << 30, "Scanned encoded bytes up to which a query runs in the driver."
)
BROADCAST_BYTES = Setting(
    "shark.join.broadcast.max.bytes", 32 << 20, "Measured build side bytes up to which a join broadcasts."
)
REPLICATED_ROWS = Setting(
    "shark.join.replicate.max.rows",
    500_000,
    "Rows of blocks up to which every task computes a build side by itself, with no broadcast; 0: never.",
)
FORCE_JOIN = Setting(
    "shark.test.join",
    "",
    "broadcast or shuffle: forced join distribution (tests).",
    is_guarded=True,
    choices=("", "broadcast", "shuffle"),
)
SKEW = Setting(
    "shark.skew", True, "Deal rows of keys that many rows share over several tasks, in joins and DISTINCT aggregates."
)
SKEW_ROWS = Setting(
    "shark.skew.min.rows",
    20_000,
    "Rows of one key in one task of a map stage, or of a DISTINCT aggregate, from which they may be dealt out.",
    least=1,
)
FORCE_SKEW = Setting("shark.test.skew", False, "Treat every key as one that many rows share (tests).", is_guarded=True)
EXCHANGE_BUCKETS = Setting(
    "shark.exchange.buckets", 0, "Buckets of a hash exchange; 0: from the default parallelism.", most=1 << 16
)
SINGLE_TASK_BYTES = Setting(
    "shark.task.single.max.bytes",
    4 << 20,
    "Measured bytes of exchanges up to which one task reads them all; 0: never, and of tables neither.",
)
SINGLE_TASK_ROWS = Setting(
    "shark.task.single.max.rows",
    2_000_000,
    "Rows of a cached table, over the number of cores, up to which one task reads it all; 0: never.",
)
SINGLE_SORT_ROWS = Setting(
    "shark.sort.single.max.rows",
    100_000,
    "Estimated rows up to which one task sorts them all; of groups ten times as many.",
)
