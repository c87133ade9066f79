"""Settings of the planner: pruning, placement, joins, skew, and how many tasks a stage has."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

EXCLUDED_RULES = Setting(
    "shark.optimizer.excluded.rules", "", "Names of optimizer rules that are not applied, separated by commas."
)
CHECK_RULES = Setting(
    "shark.test.rules", False, "Check the plan after each rule of the optimizer (tests).", is_guarded=True
)
CHECK_STAGES = Setting(
    "shark.test.stages",
    False,
    "Check each stage that is reused for other rows against a new plan (tests).",
    is_guarded=True,
)
PRUNING = Setting("shark.pruning", True, "Skip blocks by their statistics.")
LEARNED_FILTERS = Setting(
    "shark.pruning.learned", True, "Prune a scan on one side of a join by the keys found on the other side."
)
STATISTICS_ANSWERS = Setting(
    "shark.statistics.answers", True, "Answer count, min and max from statistics, without reading rows."
)
DRIVER_PLACEMENT = Setting("shark.placement.driver", True, "Run small local stages in the driver's process.")
DRIVER_PLACEMENT_BYTES = Setting(
    "shark.placement.driver.max.bytes", 8 << 30, "Maximum encoded bytes that a query scans in the driver."
)
BROADCAST_BYTES = Setting(
    "shark.join.broadcast.max.bytes", 32 << 20, "Maximum measured bytes of a build side that a join broadcasts."
)
REPLICATED_ROWS = Setting(
    "shark.join.replicate.max.rows",
    500_000,
    "Maximum rows of blocks in a build side that every task computes by itself, without a broadcast. 0: never.",
)
FORCE_JOIN = Setting(
    "shark.test.join",
    "",
    "Forced distribution of joins: broadcast or shuffle (tests).",
    is_guarded=True,
    choices=("", "broadcast", "shuffle"),
)
SKEW = Setting(
    "shark.skew", True, "Spread the rows of a frequent key over several tasks, in joins and DISTINCT aggregates."
)
SKEW_ROWS = Setting(
    "shark.skew.min.rows",
    20_000,
    "Rows of one key, in one task of a map stage or of a DISTINCT aggregate, from which they may be spread.",
    least=1,
)
FORCE_SKEW = Setting("shark.test.skew", False, "Treat every key as a frequent key (tests).", is_guarded=True)
EXCHANGE_BUCKETS = Setting(
    "shark.exchange.buckets", 0, "Buckets of a hash exchange. 0: from the default parallelism.", most=1 << 16
)
SINGLE_TASK_BYTES = Setting(
    "shark.task.single.max.bytes",
    4 << 20,
    "Maximum measured bytes of exchanges that a single task reads. 0: exchanges and tables always have several tasks.",
)
SINGLE_TASK_ROWS = Setting(
    "shark.task.single.max.rows",
    2_000_000,
    "A single task reads a cached table if its rows times the number of cores are at most this. 0: never.",
)
SINGLE_SORT_ROWS = Setting(
    "shark.sort.single.max.rows",
    100_000,
    "Maximum estimated rows that a single task sorts. For groups the maximum is ten times as high.",
)
