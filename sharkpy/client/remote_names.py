"""Names of a server's databases, tables, columns and functions: metadata calls with a short-lived cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import SharkError
from sharkpy.thrift.wire.bindings import ttypes

if TYPE_CHECKING:
    from sharkpy.client.remote_session import RemoteSession

KEPT_SECONDS = 10.0
_ANY = "%"
_ESCAPED = str.maketrans({"_": "\\_", "%": "\\%"})


class RemoteNames:
    """Names for completion. A server that refuses the call gives no names, and no error is raised."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session
        self._known: dict[tuple[str, ...], tuple[float, list[str]]] = {}

    def databases(self) -> Sequence[str]:
        return self._asked("GetSchemas", ttypes.TGetSchemasReq(schemaName=_ANY), "TABLE_SCHEM")

    def tables(self, database: str = "") -> Sequence[str]:
        pattern = (database or self._session.current_database).translate(_ESCAPED)
        return self._asked("GetTables", ttypes.TGetTablesReq(schemaName=pattern, tableName=_ANY), "TABLE_NAME", pattern)

    def columns(self, table: str) -> Sequence[str]:
        database, _, name = table.replace("`", "").lower().rpartition(".")
        schema, pattern = (part.translate(_ESCAPED) for part in (database or self._session.current_database, name))
        request = ttypes.TGetColumnsReq(schemaName=schema, tableName=pattern, columnName=_ANY)
        return self._asked("GetColumns", request, "COLUMN_NAME", schema, pattern)

    def functions(self) -> Sequence[str]:
        return self._asked("GetFunctions", ttypes.TGetFunctionsReq(functionName=_ANY), "FUNCTION_NAME")

    def _asked(self, call: str, request: Any, column: str, *key: str) -> list[str]:
        asked, names = self._known.get((call, *key), (0.0, []))
        if time.monotonic() - asked < KEPT_SECONDS and asked:
            return names
        found: list[str] = []
        try:
            for schema, batch in self._session.metadata(call, request):
                place = [name.upper() for name in schema.names].index(column)
                found += [name for name in batch.column(place).to_pylist() if name is not None]
        except (SharkError, ValueError):
            found = names
        names = list(dict.fromkeys(found))
        self._known[(call, *key)] = (time.monotonic(), names)
        return names
