"""Client of Hive's metastore in the session's JVM, with the classes that Spark ships."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sharkpy.base.errors import BindError, ConfigurationError, ExecutionError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import METASTORE_DERBY, METASTORE_SITE, METASTORE_URIS, Conf
from sharkpy.catalog.metastore_structs import Body

_API = "org.apache.hadoop.hive.metastore.api"
_NOT_THERE = frozenset({f"{_API}.NoSuchObjectException", f"{_API}.UnknownDBException", f"{_API}.UnknownTableException"})
_POOLING = "datanucleus.connectionPoolingType"
_STRUCTS = {"sd": "StorageDescriptor", "serdeInfo": "SerDeInfo", "skewedInfo": "SkewedInfo"}
_LISTS = {"cols": "FieldSchema", "partitionKeys": "FieldSchema", "sortCols": "Order"}
_FLAGS = frozenset({"compressed", "storedAsSubDirectories", "rewriteEnabled", "temporary"})


@dataclass(frozen=True, slots=True)
class MetastorePlace:
    """Place of a metastore: `site` is a hive-site.xml; `settings` override its own."""

    settings: tuple[tuple[str, str], ...] = ()
    site: str = ""
    derby: str = ""
    """Folder of an embedded Derby database."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]


def metastore_place(conf: Conf, warehouse: str) -> MetastorePlace:
    """Return the metastore's place by the settings.

    The first that is set counts: addresses, a Derby folder, a hive-site.xml, HIVE_CONF_DIR. The default is a Derby
    folder in the warehouse.
    """
    site = conf.value(METASTORE_SITE)
    if site and not Path(site).is_file():
        raise ConfigurationError(f'the file "{site}" does not exist ({METASTORE_SITE.key})', sqlstate="58P01")
    if uris := conf.value(METASTORE_URIS):
        return MetastorePlace((("hive.metastore.uris", uris),), site)
    derby = conf.value(METASTORE_DERBY)
    if not derby and not site:
        site = str(Path(os.environ.get("HIVE_CONF_DIR", ""), "hive-site.xml"))
        if "HIVE_CONF_DIR" in os.environ and Path(site).is_file():
            return MetastorePlace(site=site)
        site, derby = "", str(Path(warehouse, ".sharkpy", "metastore_db"))
    if not derby:
        return MetastorePlace(site=site)
    folder = str(Path(derby).expanduser().absolute())
    if ";" in folder:
        raise ConfigurationError(f'a Derby folder cannot have ";" in its name: "{folder}"', sqlstate="22023")
    settings = {
        "hive.metastore.uris": "",
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder};create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "hive.metastore.warehouse.dir": f"file:{warehouse}",
        "hive.metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
    }
    return MetastorePlace(tuple(settings.items()), site, folder)


class JvmMetastore:
    """`MetastoreClient` in the JVM. It connects on the first call and makes one call at a time.

    Structs are sent as JSON by one of Thrift's protocols: one round trip to the JVM for any size.
    """

    def __init__(self, jvm: Callable[[], Any], place: MetastorePlace, conf: Conf) -> None:
        """Make a client. `jvm` starts the JVM if needed, and `conf` has the settings of file systems."""
        self._start, self._place, self._conf = jvm, place, conf
        self._lock = threading.RLock()
        self._jvm: Any = None
        self._client: Any = None
        self._serializer: Any = None

    def database_names(self) -> list[str]:
        return list(self._call("getAllDatabases"))

    def database(self, name: str) -> Body | None:
        found = self._find("getDatabase", name)
        if found is None:
            return None
        body: Body = json.loads(self._text(found))
        return body

    def create_database(self, body: Body) -> None:
        self._call("createDatabase", self._struct("Database", body))

    def alter_database(self, body: Body) -> None:
        self._call("alterDatabase", body["name"], self._struct("Database", body))

    def drop_database(self, name: str) -> None:
        self._call("dropDatabase", name, False, True, False)

    def table_names(self, database: str) -> list[str]:
        return list(self._call("getAllTables", database))

    def table_text(self, database: str, name: str) -> str | None:
        found = self._find("getTable", database, name)
        return None if found is None else self._text(found)

    def table_texts(self, database: str, names: Sequence[str]) -> list[str]:
        if not names:
            return []
        texts = []
        for table in self._call("getTableObjectsByName", database, list(names)):
            with suppress(UnsupportedError):
                texts.append(self._text(table))
        return texts

    def create_table(self, body: Body) -> None:
        self._call("createTable", self._struct("Table", body))

    def alter_table(self, database: str, name: str, body: Body, cascade: bool) -> None:
        self._call("alter_table", database, name, self._struct("Table", body), cascade)

    def drop_table(self, database: str, name: str) -> None:
        self._call("dropTable", database, name, False, True)

    def partitions_text(self, database: str, name: str) -> str:
        with self._lock:
            found = self._call("listPartitions", database, name, -1)
            spec = self._struct("PartitionListComposingSpec", {})
            spec.setPartitions(found)
            return self._text(spec)

    def add_partitions(self, bodies: Sequence[Body]) -> None:
        self._call("add_partitions", [self._struct("Partition", body) for body in bodies])

    def alter_partitions(self, database: str, name: str, bodies: Sequence[Body]) -> None:
        self._call("alter_partitions", database, name, [self._struct("Partition", body) for body in bodies])

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        self._call("dropPartition", database, name, list(values), False)

    def close(self) -> None:
        from py4j.protocol import Py4JError

        with self._lock:
            if self._client is None:
                return
            client, self._client = self._client, None
            try:
                client.close()
                if folder := self._place.derby:
                    url = f"jdbc:derby:;databaseName={folder};shutdown=true"
                    self._jvm.java.sql.DriverManager.getConnection(url)
            except Py4JError:
                # Derby reports its shutdown by an exception.
                return

    def _connect(self) -> None:
        from py4j.protocol import Py4JJavaError

        jvm = self._start()
        hive = jvm.org.apache.hadoop.hive
        try:
            conf = hive.conf.HiveConf()
            if self._place.site:
                conf.addResource(jvm.java.io.File(self._place.site).toURI().toURL())
            for key, value in (*_of_file_systems(self._conf), *self._place.settings):
                conf.set(key, value)
            if str(conf.get(_POOLING)).lower() == "bonecp":
                # Spark does not ship the classes of the default.
                conf.set(_POOLING, "DBCP")
            if self._place.derby:
                jvm.java.lang.System.setProperty("derby.stream.error.file", f"{self._place.derby}.log")
            self._client = hive.metastore.RetryingMetaStoreClient.getProxy(conf, True)
        except Py4JJavaError as error:
            raise ConfigurationError(f"the Hive metastore cannot be used: {_reason(error)}", sqlstate="08001") from None
        protocol = jvm.org.apache.thrift.protocol.TSimpleJSONProtocol
        self._serializer = jvm.org.apache.thrift.TSerializer(protocol.Factory())
        self._jvm = jvm

    def _find(self, method: str, *arguments: object) -> Any:
        """Call a lookup method; return None if the object does not exist."""
        try:
            return self._call(method, *arguments)
        except _NotThereError:
            return None

    def _call(self, method: str, *arguments: object) -> Any:
        from py4j.protocol import Py4JJavaError

        with self._lock:
            if self._client is None:
                self._connect()
            try:
                return getattr(self._client, method)(*arguments)
            except Py4JJavaError as error:
                name = str(error.java_exception.getClass().getName())
                kind = _NotThereError if name in _NOT_THERE else ExecutionError
                raise kind(f"the Hive metastore: {_reason(error)}") from None

    def _text(self, struct: Any) -> str:
        from py4j.protocol import Py4JJavaError

        with self._lock:
            try:
                return str(self._serializer.toString(struct))
            except Py4JJavaError as error:
                # The protocol cannot write maps with lists as keys, which give the folders of skewed values.
                raise UnsupportedError(f"an object of the Hive metastore is not supported: {_reason(error)}") from None

    def _struct(self, name: str, body: Body) -> Any:
        """Make the Thrift struct `name` with the fields of `body`."""
        with self._lock:
            if self._client is None:
                self._connect()
            api = self._jvm.org.apache.hadoop.hive.metastore.api
            struct = getattr(api, name)()
            for key, value in body.items():
                if value is not None:
                    getattr(struct, f"set{key[0].upper()}{key[1:]}")(self._value(api, key, value))
            return struct

    def _value(self, api: Any, key: str, value: Any) -> Any:
        if key in _STRUCTS:
            return self._struct(_STRUCTS[key], value)
        if key in _LISTS:
            return [self._struct(_LISTS[key], one) for one in value]
        if key == "ownerType":
            return api.PrincipalType.findByValue(value)
        return bool(value) if key in _FLAGS else value


def _of_file_systems(conf: Conf) -> Iterator[tuple[str, str]]:
    """Settings of Hadoop's file systems, including secrets: the metastore's client may create folders."""
    for key in conf:
        name = key.removeprefix("spark.hadoop.")
        if name.startswith(("fs.", "dfs.")) and (given := conf.given(key)) is not None:
            yield name, given.reveal()


class _NotThereError(BindError):
    """Error for an object that does not exist."""


def _reason(error: Any) -> str:
    """Return the message of the innermost cause that has one."""
    reason, cause = "", error.java_exception
    while cause is not None:
        reason = str(cause.getMessage() or "") or reason or str(cause.getClass().getSimpleName())
        cause = cause.getCause()
    return reason.splitlines()[0] if reason else "no reason given"
