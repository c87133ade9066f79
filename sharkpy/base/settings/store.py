"""Settings of the memory store: its limits, its blocks, loading and compaction."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

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
BLOCK_ROWS = Setting("shark.block.rows", 1_000_000, "The most rows of a block.", least=1, most=(1 << 31) - 1)
BLOCK_BYTES = Setting(
    "shark.block.bytes", 256 << 20, "Uncompressed bytes at which loading closes a block early.", least=1
)
COMPACTION = Setting("shark.compaction", True, "Put runs of small blocks together in the background.")
COMPACTION_BLOCKS = Setting(
    "shark.compaction.min.blocks", 16, "Neighbouring small blocks that are put together.", least=2
)
FOLD_BYTES = Setting(
    "shark.compaction.max.file.bytes",
    128 << 20,
    "Bytes of small files that are folded into one, once their blocks are put together; 0: files stay as they are.",
    least=0,
)
DRIVER_LOAD_BYTES = Setting(
    "shark.load.driver.max.bytes",
    8 << 30,
    "Bytes of files up to which a table is loaded in the driver's process.",
    is_guarded=True,
)
CACHE_CHECK_NAME = Setting("shark.cache.flag.checkTableName", True, "A table named *_cached is cached in memory.")
FORCE_ENCODING = Setting(
    "shark.test.encoding", "", "Encoding forced on every column it applies to (tests).", is_guarded=True
)
