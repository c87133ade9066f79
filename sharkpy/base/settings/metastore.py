"""Settings of the metastore: Hive's or the warehouse's own catalog."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

EMBEDDED, HIVE = "embedded", "hive"
"""The values of shark.metastore."""

METASTORE = Setting(
    "shark.metastore",
    EMBEDDED,
    "Where tables are known: embedded, in the warehouse's own catalog; hive, in a Hive metastore.",
    is_guarded=True,
    choices=(EMBEDDED, HIVE),
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
