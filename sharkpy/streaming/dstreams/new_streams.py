"""`ctx.stream`: the streams and continuous tables of a warehouse by name, and new streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError
from sharkpy.catalog.names import qualified
from sharkpy.streaming.dstreams.dstream import quoted, run, text_literal
from sharkpy.streaming.handles import ContinuousTable, Stream, handle_of

if TYPE_CHECKING:
    from sharkpy.streaming.scheduler import StreamSession

Watermark = tuple[str, str]
"""A column of times, and how far a row's time may be before the latest one: ("ts", "10 SECONDS")."""


class Streams:
    """Streams of a session's warehouse. Each `from_…` makes a stream, if there is none of that name, and returns it.

    `columns` are columns of CREATE STREAM, as text: "user_id BIGINT, url STRING, ts TIMESTAMP".
    """

    def __init__(self, session: StreamSession) -> None:
        self._session = session

    def __call__(self, name: str) -> Stream | ContinuousTable:
        """Return the stream or continuous table of a name.

        Both have a status. A program can query the rows of a stream, and wait for and control a continuous table. Raise
        TableNotFoundError if there is none, and BindError 42809 for another table.
        """
        session = self._session
        session.check_open()
        return handle_of(session.catalog.table(*qualified(name, session.current_database)), session)

    def from_folder(
        self,
        name: str,
        folder: str | os.PathLike[str],
        columns: str,
        stored_as: str = "JSONFILE",
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the files that appear in a folder, in a format of tables."""
        source = f"STORED AS {stored_as} FROM FOLDER {text_literal(os.fspath(folder))}"
        return self._made(name, columns, watermark, source, options)

    def from_kafka(
        self,
        name: str,
        servers: str,
        topic: str,
        columns: str,
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the records of a topic. `options` are options of FROM KAFKA, such as `startingOffsets`."""
        told = {"bootstrap.servers": servers, "topic": topic, **(options or {})}
        return self._made(name, columns, watermark, "FROM KAFKA", told)

    def from_socket(
        self,
        name: str,
        address: str,
        columns: str,
        *,
        watermark: Watermark | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Stream:
        """Return a stream of the lines that come from "host:port"."""
        return self._made(name, columns, watermark, f"FROM SOCKET {text_literal(address)}", options)

    def queue(self, name: str, columns: str, *, watermark: Watermark | None = None) -> Stream:
        """Return a stream of the rows that programs push: `push().write(rows)`."""
        return self._made(name, columns, watermark, "FROM PROGRAM", None)

    def from_table(self, name: str, table: str, *, history: bool = False) -> Stream:
        """Return a stream of the rows appended to a table from now on. `history`: preceded by its current rows."""
        words = f"{_place(name)} FROM TABLE {_place(table)}{' WITH HISTORY' if history else ''}"
        return self._run(name, f"CREATE STREAM IF NOT EXISTS {words}")

    def _made(
        self, name: str, columns: str, watermark: Watermark | None, source: str, options: Mapping[str, str] | None
    ) -> Stream:
        if watermark is not None:
            time, delay = watermark
            columns = f"{columns}, WATERMARK FOR {quoted(time)} AS {quoted(time)} - INTERVAL {delay}"
        told = ", ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in (options or {}).items())
        words = f"{_place(name)} ({columns}) {source}{f' ({told})' if told else ''}"
        return self._run(name, f"CREATE STREAM IF NOT EXISTS {words}")

    def _run(self, name: str, text: str) -> Stream:
        session = self._session
        with session.as_statement(text):
            run(text, session)
        found = self(name)
        if not isinstance(found, Stream):
            raise BindError(f"{name} is a continuous table, and no stream", sqlstate="42809")
        return found


def _place(name: str) -> str:
    return ".".join(map(quoted, name.split(".")))
