"""Hive metastores as Iceberg catalogs: with limits, for several threads, with Hive's locks or without them."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlparse

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    DataOperationType,
    InvalidOperationException,
    LockResponse,
    LockState,
    MetaException,
    NoSuchObjectException,
)
from pyiceberg.catalog.hive import (
    HIVE_KERBEROS_AUTH,
    PROP_METADATA_LOCATION,
    PROP_PREVIOUS_METADATA_LOCATION,
    HiveCatalog,
)
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.utils.properties import property_as_bool
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport import TTransport
from thrift.transport.TSocket import TSocket

from sharkpy.base.errors import SourceError
from sharkpy.sources.file_errors import first_line

LOCKS = "engine.hive.lock-enabled"
"""Iceberg's name for a property of a table and an option of a catalog: false if no writer takes locks."""
_SERVICE = "hive"
_MILLISECONDS = 60_000
_MOST_BYTES = 64 << 20
_MOST_ITEMS = 1 << 20
_CHANGED = "The table has been modified"
"""Start of a metastore's message for a parameter that does not have the expected value."""


class LakeHiveCatalog(HiveCatalog):  # type: ignore[misc]
    """Hive metastore whose tables are changed under its locks.

    If locks are off, a table is changed on the condition that its metadata have not changed since they were read
    (HIVE-26882: in Hive 2.3.10, and from 4.0.0 on).
    """

    @staticmethod
    def _create_hive_client(properties: dict[str, str]) -> _Connections:
        return _Connections(properties)


class _Connections:
    """Opens a connection for each `with`; each thread has its own ones."""

    def __init__(self, properties: dict[str, str]) -> None:
        self._addresses = properties["uri"].split(",")
        self._user = properties.get("ugi", "").split(":") if properties.get("ugi") else []
        self._has_kerberos = property_as_bool(properties, HIVE_KERBEROS_AUTH, False)
        self._takes_locks = properties.get(LOCKS, "true").lower() != "false"
        self._opened = threading.local()

    def __enter__(self) -> Client:
        transport = self._transport()
        self._transports.append(transport)
        limits = {"string_length_limit": _MOST_BYTES, "container_length_limit": _MOST_ITEMS}
        client = _Client(TBinaryProtocol(transport, **limits), self._takes_locks)
        if self._user:
            client.set_ugi(self._user[0], self._user[1:])
        return client

    def __exit__(self, *_: object) -> None:
        self._transports.pop().close()

    @property
    def _transports(self) -> list[Any]:
        if not hasattr(self._opened, "transports"):
            self._opened.transports = []
        found: list[Any] = self._opened.transports
        return found

    def _transport(self) -> Any:
        """Open transport to the first metastore that answers."""
        failure: Exception | None = None
        for address in self._addresses:
            place = urlparse(address.strip())
            socket = TSocket(place.hostname, place.port)
            socket.setTimeout(_MILLISECONDS)
            transport = TTransport.TBufferedTransport(socket)
            if self._has_kerberos:
                transport = TTransport.TSaslClientTransport(socket, host=place.hostname, service=_SERVICE)
            try:
                transport.open()
            except TTransport.TTransportException as error:
                failure = error
                transport.close()
            else:
                return transport
        what = "none" if failure is None else first_line(failure)
        raise SourceError(f"the Hive metastore of a catalog of Iceberg does not answer: {what}", sqlstate="08006")


class _Client(Client):  # type: ignore[misc]
    """Client of a metastore for one commit, or for calls without one.

    Without locks, a table is changed on the condition that its metadata have not changed since the new ones were based
    on them.
    """

    def __init__(self, protocol: Any, takes_locks: bool) -> None:
        super().__init__(protocol)
        self._takes_locks = takes_locks

    def lock(self, rqst: Any) -> Any:
        """Take a lock, if the table's property says so, or else the catalog's option."""
        table = rqst.component[0]
        try:
            given = self.get_table(table.dbname, table.tablename).parameters.get(LOCKS)
        except NoSuchObjectException:
            given = None
        if given is not None:
            self._takes_locks = given.lower() != "false"
        if not self._takes_locks:
            return LockResponse(lockid=0, state=LockState.ACQUIRED)
        # It is not part of a Hive transaction.
        table.operationType = DataOperationType.NO_TXN
        return super().lock(rqst)

    def unlock(self, rqst: Any) -> None:
        if self._takes_locks:
            super().unlock(rqst)

    def alter_table_with_environment_context(
        self, dbname: str, tbl_name: str, new_tbl: Any, environment_context: Any
    ) -> None:
        if not self._takes_locks:
            environment_context.properties |= {
                "expected_parameter_key": PROP_METADATA_LOCATION,
                "expected_parameter_value": new_tbl.parameters[PROP_PREVIOUS_METADATA_LOCATION],
            }
        try:
            super().alter_table_with_environment_context(dbname, tbl_name, new_tbl, environment_context)
        except (MetaException, InvalidOperationException) as error:
            if _CHANGED in (error.message or ""):
                raise CommitFailedException(f"{dbname}.{tbl_name} has other metadata by now") from None
            raise
