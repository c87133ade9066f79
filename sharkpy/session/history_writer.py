"""Thread that writes records of statements to the catalog's file in batches, without delaying the statements."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sharkpy.catalog.statement_records import StatementFile, StatementRecord

log = logging.getLogger(__name__)
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
