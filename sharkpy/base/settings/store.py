"""Settings of the memory store: its limits, its blocks, loading and compaction."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

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
