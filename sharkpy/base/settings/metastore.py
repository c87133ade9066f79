"""Settings of the metastore: Hive's or the warehouse's own catalog."""

from __future__ import annotations

from sharkpy.base.settings.setting import Setting

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
