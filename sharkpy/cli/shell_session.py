"""Interface of the shell's session, in this process or on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.errors import SharkError

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from sharkpy.catalog.model import Table
    from sharkpy.execution.statement import ProgressListener
    from sharkpy.session.result import Result
    from sharkpy.session.shark_context import SharkContext


class ShellSession(Protocol):
    """Session of the shell. One thread at a time calls `sql`; another may call `cancel`."""

    @property
    def master(self) -> str: ...

    @property
    def current_database(self) -> str: ...

    def sql(self, text: str) -> Result: ...

    def substituted(self, text: str) -> str:
        """Replace the variables in `text` by their values, as far as this side knows them."""

    def cancel(self) -> None: ...

    def stop(self) -> None: ...

    def take_console(self, console: Callable[[Table, int, Iterable[RecordBatch]], None]) -> None:
        """Show the epochs of continuous sinks TO CONSOLE by a function. The epochs of a server are not shown."""

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]: ...


class Names(Protocol):
    """Names for completion; empty if the session cannot list them."""

    def databases(self) -> Iterable[str]: ...

    def tables(self, database: str = "") -> Iterable[str]: ...

    def columns(self, table: str) -> Sequence[str]: ...

    def functions(self) -> Iterable[str]: ...


class LocalNames:
    """Names from the catalog of this process."""

    def __init__(self, session: SharkContext) -> None:
        self._session = session

    def databases(self) -> Iterable[str]:
        return self._session.catalog.database_names()

    def tables(self, database: str = "") -> Iterable[str]:
        try:
            return self._session.catalog.table_names(database or self._session.current_database)
        except SharkError:
            return ()

    def columns(self, table: str) -> Sequence[str]:
        database, _, name = table.replace("`", "").lower().rpartition(".")
        try:
            found = self._session.catalog.find_table(database or self._session.current_database, name)
        except SharkError:
            return ()
        return found.shown_schema.names if found else ()

    def functions(self) -> Iterable[str]:
        from sharkpy.udf.registry import names

        return names()
