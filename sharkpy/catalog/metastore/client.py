"""Interface of a client for a Hive metastore. A Body is a struct of its Thrift interface as a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Body = dict[str, Any]


class MetastoreClient(Protocol):
    """Client of a Hive metastore. Texts are Bodies as JSON: equal texts mean no change.

    None or BindError means that the object is missing.
    """

    def database_names(self) -> list[str]: ...

    def database(self, name: str) -> Body | None: ...

    def create_database(self, body: Body) -> None: ...

    def alter_database(self, body: Body) -> None: ...

    def drop_database(self, name: str) -> None:
        """Drop a database. Its folder stays."""

    def table_names(self, database: str) -> list[str]: ...

    def table_text(self, database: str, name: str) -> str | None: ...

    def table_texts(self, database: str, names: Sequence[str]) -> list[str]:
        """Return Bodies of tables as JSON, without tables that cannot be converted."""

    def create_table(self, body: Body) -> None: ...

    def alter_table(self, database: str, name: str, body: Body, cascade: bool) -> None: ...

    def drop_table(self, database: str, name: str) -> None:
        """Drop a table. Its data stays."""

    def partitions_text(self, database: str, name: str) -> str:
        """Return the Hive partitions of a table: a Body with the field `partitions`."""

    def add_partitions(self, bodies: Sequence[Body]) -> None: ...

    def alter_partitions(self, database: str, name: str, bodies: Sequence[Body]) -> None: ...

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        """Drop a Hive partition. Its data stays."""

    def close(self) -> None: ...
