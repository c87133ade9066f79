"""History of the statements of an engine's sessions: the newest in memory and, if saving is on, in a file.

A thread writes records to the file in batches, so that no statement waits for it.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base import settings
from sharkpy.base.settings import Conf
from sharkpy.base.wildcards import name_matches
from sharkpy.catalog.statement_list import FAILED, WRITE_WORDS, FailedStatement, ShapeRow, WriteRow
from sharkpy.catalog.statement_records import Keys, StatementFile, StatementState, body_of
from sharkpy.catalog.statement_shapes import shape_number

if TYPE_CHECKING:
    from sharkpy.catalog.statement_list import StatementChoice
    from sharkpy.catalog.statement_records import StatementRecord

log = logging.getLogger(__name__)
Read = TypeVar("Read")


class StatementHistory:
    """History of statements.

    1. `add` takes the record of each statement that has ended, from any thread, and never waits for the file.
    2. The settings `shark.history.*` of the engine's owner limit memory and file. If the file cannot be written or
       read, a line is logged.
    3. The file has the records of all processes that save their statements in it, now or earlier.
    """

    def __init__(self, conf: Conf, path: str, *, is_read_only: bool = False) -> None:
        """`path`: the catalog's file. If `is_read_only`, nothing is saved."""
        self.text_bytes = conf.value(settings.HISTORY_TEXT_BYTES)
        most = conf.value(settings.HISTORY_STATEMENTS)
        self.is_on = most > 0
        self.profile_bytes = conf.value(settings.HISTORY_PROFILE_BYTES) if self.is_on else 0
        self.plan_bytes = conf.value(settings.HISTORY_PLAN_BYTES) if self.is_on else 0
        self._records: deque[StatementRecord] = deque(maxlen=max(0, most))
        self._file: StatementFile | None = None
        self._writer: HistoryWriter | None = None
        if self.is_on and not is_read_only and conf.value(settings.HISTORY_SAVED):
            self._file = StatementFile(
                path, conf.value(settings.HISTORY_SAVED_STATEMENTS), conf.value(settings.HISTORY_SAVED_DAYS)
            )
            self._writer = HistoryWriter(self._file)

    def add(self, record: StatementRecord) -> None:
        # No lock is taken: the garbage collector may call this at any point.
        self._records.append(record)
        if self._writer is not None:
            self._writer.add(record)

    def newest(
        self, running: Iterable[StatementRecord], limit: int | None, like: str | None = None, user: str | None = None
    ) -> list[StatementRecord]:
        """Return at most `limit` statements, running and ended ones, the latest begun first.

        `like`: a pattern of SHOW that the whole text matches; `user`: only the statements of this user.
        """
        by_id = self._in_memory(running, user)
        found = [one for one in by_id.values() if like is None or name_matches(one.text, like)]

        def is_wanted(one: StatementRecord) -> bool:
            return one.query_id not in by_id and (like is None or name_matches(one.text, like))

        found += itertools.islice(self._saved(lambda file: file.newest(user, is_wanted)), limit)
        found.sort(key=lambda one: one.started, reverse=True)
        return found[:limit]

    def bodies(
        self, running: Iterable[StatementRecord], user: str | None, query_ids: Keys = None
    ) -> Iterator[list[str]]:
        """Yield all statements, of one user or some ids if they are given, as pages of JSON: see `body_of`."""
        by_id = self._in_memory(running, user, query_ids)
        yield [body_of(one) for one in by_id.values()]
        for page in self._saved(lambda file: file.bodies(user, query_ids)):
            yield [body for query_id, body in page if query_id not in by_id]

    def profiles(
        self, running: Iterable[StatementRecord], user: str | None, query_ids: Keys = None
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield ids and profiles of the statements that have one, in pages, as `bodies` does."""
        by_id = self._in_memory(running, user, query_ids)
        yield [(one.query_id, one.profile) for one in by_id.values() if one.profile]
        for page in self._saved(lambda file: file.profiles(user, query_ids)):
            yield [one for one in page if one[0] not in by_id]

    def _in_memory(
        self, running: Iterable[StatementRecord], user: str | None, query_ids: Keys = None
    ) -> dict[str, StatementRecord]:
        # A statement that has ended in the meantime is in both.
        known = (*running, *list(self._records))
        mine = (one for one in known if user in (None, one.user))
        return {one.query_id: one for one in mine if query_ids is None or one.query_id in query_ids}

    def chosen(self, running: Iterable[StatementRecord], choice: StatementChoice) -> list[StatementRecord]:
        """Return the first chosen statements, running and ended ones, in their order. Saved ones have no plans."""
        by_id = {one.query_id: one for one in (*running, *list(self._records))}
        saved = self._read(lambda file: file.chosen(choice)) or []
        # A statement that has ended in the meantime is in several of them.
        found = {one.query_id: one for one in saved if one.query_id not in by_id}
        return choice.sorted([*found.values(), *filter(choice.has, by_id.values())])

    def shapes(self, user: str | None, limit: int) -> list[ShapeRow]:
        """Return the newest ended statements, of one user if it is given, with their shapes."""
        if self._file is not None:
            return self._read(lambda file: file.shapes(user, limit)) or []
        known = [one for one in reversed(list(self._records)) if user in (None, one.user)]
        return [ShapeRow(shape_number(one.text), one.query_id, one.seconds) for one in known[:limit]]

    def failures(self, user: str | None, searched: int, limit: int) -> list[FailedStatement]:
        """Return the newest failures among the last `searched` statements, of one user if it is given."""
        if self._file is not None:
            return self._read(lambda file: file.failures(user, searched, limit)) or []
        known = itertools.islice(reversed(list(self._records)), searched)
        found = (one for one in known if one.state in FAILED and user in (None, one.user))
        rows = ((one.query_id, one.started.timestamp(), one.sqlstate, one.error) for one in found)
        return [FailedStatement(*row) for row in itertools.islice(rows, limit)]

    def texts(self, query_ids: Sequence[str]) -> dict[str, str]:
        """Return the texts of ended statements by their ids."""
        known = {one.query_id: one.text for one in list(self._records)}
        saved = self._read(lambda file: file.texts([one for one in query_ids if one not in known])) or {}
        return {one: text for one in query_ids if (text := known.get(one, saved.get(one))) is not None}

    def writes(self, part: str, user: str | None, limit: int) -> list[WriteRow]:
        """Return finished statements with `part` in their texts, in any case of letters, that may have written tables:
        the newest first, of one user if it is given.
        """
        known = [
            WriteRow(one.query_id, one.user, one.started.timestamp(), one.text)
            for one in reversed(list(self._records))
            if one.state is StatementState.FINISHED
            and user in (None, one.user)
            and one.text.upper().startswith(WRITE_WORDS)
            and part.lower() in one.text.lower()
        ]
        saved = self._read(lambda file: file.writes(part, user, limit)) or []
        found = {one.query_id: one for one in (*saved, *known[:limit])}
        return sorted(found.values(), key=lambda one: one.started, reverse=True)[:limit]

    def ended_since(self, last: StatementRecord | None) -> list[StatementRecord]:
        """Return the records that were added after `last`, in order: all in memory if it is None or has left it."""
        newer = itertools.takewhile(lambda one: one is not last, reversed(list(self._records)))
        return list(newer)[::-1]

    def find(self, running: Iterable[StatementRecord], query_id: str) -> StatementRecord | None:
        known = list(self._records)
        found = {one.query_id: one for one in (*running, *known)}.get(query_id)
        return self._read(lambda file: file.find(query_id)) if found is None else found

    def _read(self, read: Callable[[StatementFile], Read]) -> Read | None:
        """Return what `read` reads in the file, or None if there is no file, or it cannot be read."""
        if self._file is None:
            return None
        try:
            return read(self._file)
        except sqlite3.Error as error:
            log.warning("the saved history of statements cannot be read: %s", error)
            return None

    def _saved(self, read: Callable[[StatementFile], Iterator[Read]]) -> Iterator[Read]:
        """Yield what `read` reads in the file, as far as it can be read."""
        if self._file is None:
            return
        try:
            yield from read(self._file)
        except sqlite3.Error as error:
            log.warning("the saved history of statements cannot be read: %s", error)

    def close(self) -> None:
        """Write the remaining records, for a few seconds at most."""
        if self._writer is not None:
            self._writer.close()


# Records in the catalog's file


_GATHER_SECONDS = 0.2
"""Time to gather the records of one batch. Records of this time are lost if the process is killed."""
_RETRY_SECONDS = 2.0
_CLOSE_SECONDS = 5.0
_MOST_WAITING = 10_000
_MOST_IN_BATCH = 500
"""Limit on the records of a batch, so that the file's lock is held for a few milliseconds only."""


class HistoryWriter:
    """Writer of records, which wait in memory until they are written.

    If writing fails and too many records wait, the oldest are dropped. The thread starts with the first record and
    sleeps while no record waits.
    """

    def __init__(self, file: StatementFile) -> None:
        self._file = file
        self._waiting: deque[StatementRecord] = deque(maxlen=_MOST_WAITING)
        self._lock = threading.RLock()
        self._is_wanted = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_failing = False

    def add(self, record: StatementRecord) -> None:
        self._waiting.append(record)
        if self._thread is None:
            self._start()
        self._is_wanted.set()

    def close(self) -> None:
        self._closing.set()
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="sharkpy-history", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._is_wanted.wait()
            self._closing.wait(_RETRY_SECONDS if self._is_failing else _GATHER_SECONDS)
            self._is_wanted.clear()
            self._write()
        self._write()

    def _write(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_IN_BATCH))]
            try:
                self._file.append(batch)
            except (sqlite3.Error, OSError, ValueError) as error:
                if not self._is_failing:
                    log.warning("the history of statements cannot be saved: %s", error)
                self._is_failing = True
                self._is_wanted.set()
                self._put_back(batch)
                return
            self._is_failing = False

    def _put_back(self, batch: list[StatementRecord]) -> None:
        room = _MOST_WAITING - len(self._waiting)
        if room > 0:
            self._waiting.extendleft(reversed(batch[-room:]))
