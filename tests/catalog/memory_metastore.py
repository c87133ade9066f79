"""Metastore in memory, for tests of the calls that it gets."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence

from sharkpy.base.errors import ExecutionError
from sharkpy.catalog.metastore_structs import Body

TEXT_CLASSES = {
    "inputFormat": "org.apache.hadoop.mapred.TextInputFormat",
    "outputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
    "serdeInfo": {
        "serializationLib": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "parameters": {"serialization.format": "1"},
    },
}


def table_body(name: str, columns: str = "a int", keys: str = "", **more: object) -> Body:
    """Struct of a table of text in the folder /wh/name, as Hive has it."""

    def fields(text: str) -> list[Body]:
        pairs = (part.strip().split(" ", 1) for part in text.split(";") if part)
        return [{"name": column, "type": dtype} for column, dtype in pairs]

    return {
        "dbName": "default",
        "tableName": name,
        "owner": "somebody",
        "createTime": 1_700_000_000,
        "sd": {"cols": fields(columns), "location": f"file:/wh/{name}", **copy.deepcopy(TEXT_CLASSES)},
        "partitionKeys": fields(keys),
        "parameters": {"transient_lastDdlTime": "1700000000"},
        "tableType": "MANAGED_TABLE",
        **more,
    }


class MemoryMetastore:
    """`MetastoreClient` in memory. Calls named in `fails` raise ExecutionError; `calls` records the calls that change
    something.
    """

    def __init__(self) -> None:
        self.databases: dict[str, Body] = {"default": {"name": "default", "locationUri": "file:/wh", "parameters": {}}}
        self.tables: dict[tuple[str, str], Body] = {}
        self.parts: dict[tuple[str, str], list[Body]] = {}
        self.calls: list[str] = []
        self.fails: set[str] = set()

    def _note(self, call: str) -> None:
        if call in self.fails:
            raise ExecutionError(f"the Hive metastore: {call}")
        self.calls.append(call)

    def database_names(self) -> list[str]:
        return list(self.databases)

    def database(self, name: str) -> Body | None:
        return self.databases.get(name)

    def create_database(self, body: Body) -> None:
        self._note("create_database")
        self.databases[body["name"]] = body

    def alter_database(self, body: Body) -> None:
        self._note("alter_database")
        self.databases[body["name"]] = body

    def drop_database(self, name: str) -> None:
        self._note("drop_database")
        del self.databases[name]

    def table_names(self, database: str) -> list[str]:
        return [name for place, name in self.tables if place == database]

    def table_text(self, database: str, name: str) -> str | None:
        body = self.tables.get((database, name))
        return None if body is None else json.dumps(body)

    def table_texts(self, database: str, names: Sequence[str]) -> list[str]:
        return [json.dumps(self.tables[database, name]) for name in names]

    def create_table(self, body: Body) -> None:
        self._note("create_table")
        self.tables[body["dbName"], body["tableName"]] = {"createTime": 1_700_000_001} | body

    def alter_table(self, database: str, name: str, body: Body, cascade: bool) -> None:
        self._note("alter_table")
        del self.tables[database, name]
        self.tables[body["dbName"], body["tableName"]] = body
        self.parts[body["dbName"], body["tableName"]] = self.parts.pop((database, name), [])

    def drop_table(self, database: str, name: str) -> None:
        self._note("drop_table")
        del self.tables[database, name]
        self.parts.pop((database, name), None)

    def partitions_text(self, database: str, name: str) -> str:
        return json.dumps({"partitions": self.parts.get((database, name), [])})

    def add_partitions(self, bodies: Sequence[Body]) -> None:
        self._note("add_partitions")
        for body in bodies:
            self.parts.setdefault((body["dbName"], body["tableName"]), []).append(body)

    def alter_partitions(self, database: str, name: str, bodies: Sequence[Body]) -> None:
        self._note("alter_partitions")
        for body in bodies:
            there = self.parts[database, name]
            there[:] = [body if one["values"] == body["values"] else one for one in there]

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        self._note("drop_partition")
        there = self.parts[database, name]
        there[:] = [one for one in there if one["values"] != list(values)]

    def close(self) -> None:
        pass
