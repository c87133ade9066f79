"""What is asked of a Hive metastore. A Body is a struct of its Thrift interface by the names of its fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

Body = dict[str, Any]


class MetastoreClient(Protocol):
    """Texts are Bodies as JSON: equal ones say that nothing has changed. None and BindError: there is no such thing."""

    def database_names(self) -> list[str]: ...

    def database(self, name: str) -> Body | None: ...

    def create_database(self, body: Body) -> None: ...

    def alter_database(self, body: Body) -> None: ...

    def drop_database(self, name: str) -> None:
        """Its folder stays."""

    def table_names(self, database: str) -> list[str]: ...

    def table_text(self, database: str, name: str) -> str | None: ...

    def table_texts(self, database: str, names: Sequence[str]) -> list[str]:
        """Without what cannot be had as JSON."""

    def create_table(self, body: Body) -> None: ...

    def alter_table(self, database: str, name: str, body: Body, cascade: bool) -> None: ...

    def drop_table(self, database: str, name: str) -> None:
        """Its data stays."""

    def partitions_text(self, database: str, name: str) -> str:
        """A Body with the field `partitions`."""

    def add_partitions(self, bodies: Sequence[Body]) -> None: ...

    def alter_partitions(self, database: str, name: str, bodies: Sequence[Body]) -> None: ...

    def drop_partition(self, database: str, name: str, values: Sequence[str]) -> None:
        """Its data stays."""

    def close(self) -> None: ...
