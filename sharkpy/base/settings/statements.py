"""Settings of statements: HiveQL's meaning, plans, limits, TRANSFORM's scripts and continuous queries."""

from __future__ import annotations

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.parse_limits import shortened
from sharkpy.base.settings.setting import Setting
from sharkpy.base.time_zone import LOCAL, check_zone


def check_ansi(text: str) -> bool:
    """Return False. Raise ConfigurationError for true, since casts and sums are not checked."""
    if text.strip().lower() not in ("false", "0"):
        hint = "assert_true(x) and CHECK constraints refuse rows; in Spark 3 and Hive false is the default"
        message = f"spark.sql.ansi.enabled={shortened(text)} is not supported: casts that fail give NULL"
        raise ConfigurationError(message, hint=hint, sqlstate="0A000")
    return False


_TAG_CHARACTERS = 256


def _check_tag(text: str) -> str:
    """Return a label without the quotes around it. Raise ConfigurationError if it is too long."""
    tag = text.strip()
    if len(tag) > 1 and tag[0] == tag[-1] and tag[0] in "'\"":
        tag = tag[1:-1]
    if len(tag) > _TAG_CHARACTERS:
        message = f"shark.query.tag has {len(tag)} characters, at most {_TAG_CHARACTERS} are allowed"
        raise ConfigurationError(message, sqlstate="22023")
    return tag


TIME_ZONE = Setting(
    "shark.session.timezone",
    LOCAL,
    "Time zone of the clock, and of conversions between numbers and times. LOCAL: the zone of the process."
    " Also SET TIME ZONE.",
    synonyms=("hive.local.time.zone", "spark.sql.session.timezone"),
    check=check_zone,
)
INTEGER_SECONDS = Setting(
    "hive.int.timestamp.conversion.in.seconds",
    False,
    "CAST of an integer AS TIMESTAMP counts seconds, not milliseconds.",
)
SAMPLE_SEED = Setting(
    "hive.sample.seednumber",
    0,
    "Seed that selects the rows of TABLESAMPLE by a share or by random buckets.",
    least=-(1 << 31),
    most=(1 << 31) - 1,
)
GROUP_POSITIONS = Setting("hive.groupby.position.alias", True, "GROUP BY 1 means the first item of the select list.")
ORDER_POSITIONS = Setting("hive.orderby.position.alias", True, "ORDER BY 1 means the first item of the select list.")
LEGACY_GROUPING_ID = Setting(
    "shark.grouping.id.legacy",
    False,
    "Compute GROUPING__ID as before Hive 2.3: one bit for each grouping column, the lowest bit for the first column.",
)
ANSI = Setting(
    "spark.sql.ansi.enabled",
    False,
    "Only false is supported: casts that fail return NULL and integers wrap around, as in Hive.",
    check=check_ansi,
)
QUOTED_IDENTIFIERS = Setting(
    "hive.support.quoted.identifiers",
    "column",
    "none: a name in backquotes in a select list is a regular expression.",
    choices=("column", "none", "standard"),
)


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
KERNELS = Setting(
    "shark.kernels",
    "auto",
    "Filter and aggregate the rows of cached tables by compiled loops over their encoded columns, instead of by DuckDB."
    " auto: for many rows in the driver, once the loops are loaded.",
    choices=("auto", "always", "never"),
)
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
    20_000_000,
    "Maximum rows of cached tables that a query on one machine reads in a single task, with all cores. A task with one"
    " core reads a table alone if its rows times the number of cores are at most a tenth of this. 0: never.",
)
SINGLE_SORT_ROWS = Setting(
    "shark.sort.single.max.rows",
    100_000,
    "Maximum estimated rows that a single task sorts. For groups the maximum is ten times as high.",
)


QUERY_TAG = Setting(
    "shark.query.tag",
    "",
    "Label of the session's statements in the history, at most 256 characters: SET shark.query.tag = 'nightly'.",
    check=_check_tag,
)
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


SCRIPT_ESCAPES = Setting(
    "hive.transform.escape.input",
    False,
    "Write line ends and tabs in values as \\n, \\r and \\t for scripts, and accept them so.",
)
SCRIPT_MAY_LEAVE_ROWS = Setting(
    "hive.exec.script.allow.partial.consumption", False, "Let a script end before it has read all of its rows."
)
SCRIPT_ERROR_BYTES = Setting(
    "hive.exec.script.maxerrsize",
    100_000,
    "Bytes at the end of a script's standard error that its error message may quote.",
)
SCRIPT_ID_VARIABLE = Setting(
    "hive.script.operator.id.env.var",
    "HIVE_SCRIPT_OPERATOR_ID",
    "Environment variable with a name that is unique to each script of a statement.",
)
SCRIPT_WRAPPER = Setting("hive.exec.script.wrapper", "", "Words before the command of each script.")


STREAM_POLL_MS = Setting(
    "shark.stream.poll.ms",
    50,
    "Milliseconds between two checks of a stream's source. After new rows the interval is a tenth of this for"
    " a while. It is up to four times as long if nothing comes, or if the system reports changes.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MS = Setting(
    "shark.stream.list.ms",
    1000,
    "Milliseconds between two listings of a stream's folder in a bucket or in HDFS, for each page of the listing.",
    is_guarded=True,
    least=1,
    most=3_600_000,
)
STREAM_LIST_MOST_MS = Setting(
    "shark.stream.list.most.ms",
    30_000,
    "Maximum milliseconds between two such listings. While nothing comes, the interval grows to a tenth of the"
    " time since the last new file.",
    is_guarded=True,
    least=1,
    most=86_400_000,
)
STREAM_EPOCHS = Setting(
    "shark.stream.epochs.at.once",
    2,
    "Epochs of continuous queries that run at the same time.",
    is_guarded=True,
    least=1,
)
STREAM_KEPT_EPOCHS = Setting(
    "shark.stream.kept.epochs",
    20,
    "Last epochs to which a continuous table can be rolled back, or at which it can be read. Their files are"
    " not merged.",
    is_guarded=True,
    least=0,
    most=10_000,
)
STREAM_LOG_EPOCHS = Setting(
    "shark.stream.log.epochs", 10_000, "Epochs that the log of a continuous query holds.", is_guarded=True, least=100
)
