"""Continuous queries, files of streams, and committed generations of tables, in the catalog's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import (
    ContinuousQuery,
    Offsets,
    QueryState,
    Trigger,
    TriggerKind,
    offsets_from_text,
    offsets_to_text,
)
from sharkpy.catalog.epoch_store import EpochStore

if TYPE_CHECKING:
    from sharkpy.catalog.database_file import CatalogFile

REWRITE = "!"
"""Prefix of a name that is not a file, but marks that rows of the stream's table were replaced or removed."""
_COLUMNS = "query_id, definition, state, epoch, offsets, fault"


@dataclass(frozen=True, slots=True)
class StreamFile:
    """A file of a stream.

    `number` is its position in the stream's order. `name` is its path relative to the stream's folder. `form` describes
    its format and columns if they differ from the stream's (see `sharkpy.catalog.json_rows`). `tag` identifies the
    content of a remote file.
    """

    number: int
    name: str
    size_bytes: int
    modified_ns: int
    form: str = ""
    tag: str = ""


class StreamStore:
    """The catalog's rows about streams. Call methods that change them inside a transaction of the catalog.

    1. Each table that a continuous query writes has the number of its last committed generation. It changes together
       with the query's epoch and offsets, in one transaction.
    2. The files of a stream are numbered in the order in which they were found. A number is never reused.
    """

    def __init__(self, file: CatalogFile) -> None:
        self._file = file
        self.epochs = EpochStore(file)

    # Continuous queries

    def queries(self) -> list[ContinuousQuery]:
        return [_query(row) for row in self._file.rows(f"SELECT {_COLUMNS} FROM continuous_")]

    def find(self, query_id: str) -> ContinuousQuery | None:
        row = self._file.row(f"SELECT {_COLUMNS} FROM continuous_ WHERE query_id = ?", query_id)
        return None if row is None else _query(row)

    def get(self, query_id: str) -> ContinuousQuery:
        """Return a query. Raise BindError 42704 if there is none."""
        query = self.find(query_id)
        if query is None:
            raise BindError("the continuous query was dropped", sqlstate="42704")
        return query

    def add(self, query: ContinuousQuery) -> None:
        row = (
            query.query_id,
            _definition(query),
            query.state.value,
            query.epoch,
            offsets_to_text(query.offsets),
            query.fault,
        )
        self._file.run(f"INSERT INTO continuous_ ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", *row)

    def set_state(self, query_id: str, state: QueryState, fault: str = "") -> None:
        """Set the state of a query, if it still exists."""
        self._file.run("UPDATE continuous_ SET state = ?, fault = ? WHERE query_id = ?", state.value, fault, query_id)

    def end_epoch(self, query: ContinuousQuery, offsets: Offsets) -> None:
        """Record that the epoch after `query.epoch` has been written, up to `offsets`.

        Raise TableChangedError if another process has written it, or the query was altered or dropped.
        """
        # After a rollback the number of an epoch is used again, possibly with other offsets.
        sql = (
            "UPDATE continuous_ SET epoch = ?, offsets = ?, fault = ''"
            " WHERE query_id = ? AND epoch = ? AND offsets = ? AND definition = ?"
        )
        known = query.query_id, query.epoch, offsets_to_text(query.offsets), _definition(query)
        if not self._file.run(sql, query.epoch + 1, offsets_to_text(offsets), *known):
            message = f"epoch {query.epoch + 1} was written by another process, or the query was altered or dropped"
            raise TableChangedError(message)

    def redefine(self, query: ContinuousQuery) -> None:
        """Give a query another definition, from the next epoch on."""
        sql = "UPDATE continuous_ SET definition = ? WHERE query_id = ?"
        self._file.run(sql, _definition(query), query.query_id)

    # Committed generations

    def newest(self, table_id: str) -> int | None:
        """Return the last committed generation, or None for a table that no continuous query has written."""
        row = self._file.row("SELECT newest FROM generation_ WHERE table_id = ?", table_id)
        return None if row is None else int(row[0])

    def set_newest(self, table_id: str, newest: int) -> None:
        self._file.run("INSERT OR REPLACE INTO generation_ (table_id, newest) VALUES (?, ?)", table_id, newest)

    # Files of streams

    def end(self, table_id: str) -> int:
        """Return the number after a stream's last file."""
        row = self._file.row("SELECT max(number) FROM stream_file_ WHERE table_id = ?", table_id)
        return 0 if row is None or row[0] is None else int(row[0]) + 1

    def files(self, table_id: str, start: int, end: int) -> list[StreamFile]:
        """Return the files from the number `start` up to but excluding `end`."""
        sql = (
            "SELECT number, name, size_bytes, modified_ns, form, tag FROM stream_file_"
            " WHERE table_id = ? AND number >= ? AND number < ? AND name <> '' ORDER BY number"
        )
        return [StreamFile(*row) for row in self._file.rows(sql, table_id, start, end)]

    def add_files(self, table_id: str, files: Sequence[StreamFile]) -> list[StreamFile]:
        """Add files after the known ones. Return them with their numbers, without the files whose names are known."""
        sql = "SELECT number, name FROM stream_file_ WHERE table_id = ? ORDER BY number DESC LIMIT 1"
        last, name = self._file.row(sql, table_id) or (-1, None)
        sql = (
            "INSERT OR IGNORE INTO stream_file_ (table_id, number, name, size_bytes, modified_ns, form, tag)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        added = list[StreamFile]()
        for one in files:
            number = last + 1 + len(added)
            identity = (one.size_bytes, one.modified_ns, one.form, one.tag)
            if self._file.run(sql, table_id, number, one.name, *identity):
                added.append(replace(one, number=number))
        if added and name == "":
            self._file.run("DELETE FROM stream_file_ WHERE table_id = ? AND number = ?", table_id, last)
        return added

    def forget_files(self, table_id: str, numbers: Iterable[int]) -> None:
        """Forget files. For the last number, a row without a name remains, so that no number is reused."""
        last = self.end(table_id) - 1
        for number in numbers:
            self._file.run("DELETE FROM stream_file_ WHERE table_id = ? AND number = ?", table_id, number)
        if last >= 0 and self.end(table_id) != last + 1:
            self._file.run("DELETE FROM stream_file_ WHERE table_id = ? AND name = ''", table_id)
            self.begin_after(table_id, last)

    def begin_after(self, table_id: str, number: int) -> None:
        """Let the numbers of a new stream's items begin after `number`, as if earlier items were forgotten."""
        self._file.run("INSERT INTO stream_file_ VALUES (?, ?, '', 0, 0, '', '')", table_id, number)

    # Tables whose rows are streams

    def add_feed(self, stream_id: str, table_id: str) -> None:
        """Make the rows that are written to a table from now on the rows of a stream."""
        self._file.run("INSERT INTO feed_ (stream_id, table_id) VALUES (?, ?)", stream_id, table_id)

    def fed_by(self, table_id: str) -> list[str]:
        """Return the ids of the streams of a table's rows."""
        return [stream for (stream,) in self._file.rows("SELECT stream_id FROM feed_ WHERE table_id = ?", table_id)]

    def feeding(self, stream_id: str) -> str | None:
        """Return the id of the table that a stream follows, or None if the table cannot be restored any more."""
        row = self._file.row("SELECT table_id FROM feed_ WHERE stream_id = ?", stream_id)
        return None if row is None else str(row[0])

    def wanted_names(self) -> list[str]:
        """Return the names of the files in remote folders that streams of appended rows still need (see
        `wanted_files`).
        """
        sql = "SELECT name FROM stream_file_ WHERE name LIKE '%:/%' AND table_id IN (SELECT stream_id FROM feed_)"
        return [name for (name,) in self._file.rows(sql)]

    def forget_source(self, table_id: str) -> None:
        """Forget a table that cannot be restored any more: its generation, and which streams follow it."""
        self._file.run("DELETE FROM generation_ WHERE table_id = ?", table_id)
        self._file.run("DELETE FROM feed_ WHERE table_id = ?", table_id)

    def forget(self, table_id: str, query_id: str) -> None:
        """Forget a table or stream, and its continuous query."""
        self._file.run("DELETE FROM stream_file_ WHERE table_id = ?", table_id)
        self._file.run("DELETE FROM feed_ WHERE stream_id = ?", table_id)
        if query_id:
            self._file.run("DELETE FROM continuous_ WHERE query_id = ?", query_id)
            self.epochs.forget(query_id)


def _definition(query: ContinuousQuery) -> str:
    """Return the text of a definition. For a stored definition it equals the stored text, whichever version wrote that:
    fields of later versions are left out unless they are set.
    """
    trigger = [query.trigger.kind.value, query.trigger.seconds]
    body: dict[str, object] = {
        "table_id": query.table_id,
        "text": query.text,
        "database": query.database,
        "streams": list(query.streams),
        "trigger": trigger,
        "settings": [list(pair) for pair in query.settings],
        "user": query.user,
    }
    if query.targets:
        body["targets"] = list(query.targets)
    if query.bad_rows:
        body["bad_rows"] = query.bad_rows
    if query.start_words:
        body["start"] = [query.start_words, offsets_to_text(query.start)]
    if query.history:
        body["history"] = [query.history, query.continued]
    if query.late_rows:
        body["late_rows"] = query.late_rows
    if query.is_unbounded:
        body["is_unbounded"] = True
    if query.bounds is not None:
        body["bounds"] = list(query.bounds)
    return json.dumps(body)


def _query(row: Any) -> ContinuousQuery:
    query_id, definition, state, epoch, offsets, fault = row
    body = json.loads(definition)
    kind, seconds = body["trigger"]
    words, start = body.get("start", ("", offsets_to_text(())))
    history, continued = body.get("history", ("", ""))
    bounds = body.get("bounds")
    return ContinuousQuery(
        query_id,
        body["table_id"],
        body["text"],
        body["database"],
        tuple(body["streams"]),
        Trigger(TriggerKind(kind), seconds),
        tuple((key, value) for key, value in body["settings"]),
        body["user"],
        QueryState(state),
        epoch,
        offsets_from_text(offsets),
        fault,
        tuple(body.get("targets", ())),
        body.get("bad_rows", ""),
        offsets_from_text(start),
        words,
        history,
        continued,
        body.get("is_unbounded", False),
        body.get("late_rows", ""),
        None if bounds is None else tuple(bounds),
    )
