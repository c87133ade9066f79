"""Log of a continuous query's epochs: a readable text file with one JSON object a line. Figures of recent epochs.

An epoch gets a line before it runs, with the offsets at which it begins and ends for each stream, and a line after it
was written. The catalog decides which epochs count. A line about an epoch that the catalog does not know belongs to an
unfinished epoch.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sharkpy.base.records import dataclass
from sharkpy.catalog.continuous_query import Position, position_from_numbers, position_to_numbers
from sharkpy.sources.file_errors import io_error

_TOTALS = "totals"
_WORK = "work"
_LAST_BYTES = 1 << 14
"""Size of the end of a log that usually contains the last totals."""
_RECENT_BYTES = 48 << 10
"""Size of the end of a log with more than a hundred epochs."""
Ranges = tuple[tuple[str, Position, Position], ...]
"""Ids of streams, each with the positions at which an epoch begins and ends."""


def mark_of(ranges: Ranges) -> str:
    """Return a short hash that identifies ranges."""
    texts = [[stream, position_to_numbers(start), position_to_numbers(end)] for stream, start, end in sorted(ranges)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


class Totals(NamedTuple):
    """Numbers of rows, and of records that did not parse, in all epochs up to a given one."""

    rows: int = 0
    bad_rows: int = 0


class EpochWork(NamedTuple):
    """Seconds of an epoch by phase, and the number of items that were found and not read when it began."""

    plan: float
    """Seconds for the snapshot, the items and the query's names."""
    run: float
    """Seconds for computing and writing the rows."""
    commit: float
    """Seconds for syncing the files and for the commit."""
    waiting: int


@dataclass(frozen=True, slots=True)
class LoggedEpoch:
    """An epoch in the log. `rows` and the fields after it are None if the log has no line about the end of the epoch.

    `bad_rows` is the number of records that did not parse. `totals` and `work` are None in logs of earlier versions.
    """

    number: int
    ranges: Ranges
    began: str
    rows: int | None = None
    seconds: float | None = None
    bad_rows: int | None = None
    totals: Totals | None = None
    work: EpochWork | None = None


class EpochLog:
    """Log of one continuous query, written by one process at a time."""

    def __init__(self, path: str, most_epochs: int) -> None:
        """`path` is the file, which the first write creates. The newest `most_epochs` epochs are kept."""
        self._path = path
        self._most_epochs = most_epochs
        self._lines = -1

    def begin(self, number: int, ranges: Ranges, names: Sequence[str], *, is_synced: bool = True) -> None:
        """Log an epoch before it runs, with the names of its streams.

        If `is_synced`, the line is on disk on return. Otherwise call `sync` before any part of the epoch becomes
        visible.
        """
        began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._append(_begin_line(number, began, ranges) | {"streams": list(names)}, is_synced=is_synced)

    def sync(self) -> None:
        """Sync the log to disk."""
        try:
            with open(self._path, "rb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise io_error(error, self._path) from None

    def end(
        self,
        number: int,
        rows: int,
        seconds: float,
        bad_rows: int = 0,
        totals: Totals | None = None,
        work: EpochWork | None = None,
    ) -> None:
        """Log that an epoch has been written. `totals` include it."""
        self._append(_end_line(number, rows, round(seconds, 6), bad_rows, totals, work), is_synced=False)
        if self._lines > 4 * self._most_epochs:
            self._shorten(number)

    def roll_back(self, number: int) -> None:
        """Log that the epochs after `number` were rolled back."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._append({"epoch": number, "rolled_back": at}, is_synced=True)

    def epochs(self, written: int, limit: int | None = None) -> list[LoggedEpoch]:
        """Return the epochs of a query, newest first. `written` is the number of its last committed epoch.

        An unfinished epoch after `written` is included. If an epoch ran several times, the attempt that counts is
        returned.

        An epoch may begin again after its end for two reasons. It was rolled back, perhaps by a process that was killed
        before it could log that. Or a process that did not know of the end began it; that process does not end it.
        """
        return _epochs(self._read(), written, limit)

    def recent_epochs(self, written: int, limit: int) -> list[LoggedEpoch]:
        """Return the last epochs of a query that have ended, newest first: at most `limit`.

        Only the end of the file is read.
        """
        found = _epochs(self._last_lines(_RECENT_BYTES), written, None)
        return [one for one in found if one.rows is not None][:limit]

    def totals(self, written: int) -> Totals:
        """Return the totals of a query's epochs up to `written`, its last committed one."""
        for line in reversed(self._last_lines()):
            written = min(written, line["epoch"]) if "rolled_back" in line else written
            if _TOTALS in line and line["epoch"] <= written:
                return Totals(*line[_TOTALS])
        known = self.epochs(written)
        newest = next((place for place, one in enumerate(known) if one.totals is not None), len(known))
        before = known[newest].totals if newest < len(known) else None
        rows, bad_rows = before or Totals()
        behind = known[:newest]
        return Totals(rows + sum(one.rows or 0 for one in behind), bad_rows + sum(one.bad_rows or 0 for one in behind))

    def begun(self, number: int) -> LoggedEpoch | None:
        """Return the epoch `number`, which follows the committed ones, if it has begun; else None."""
        newest = self.epochs(number - 1, 1)
        return newest[0] if newest and newest[0].number == number else None

    def tried(self, number: int, mark: str) -> Ranges | None:
        """Return the ranges of any attempt at an epoch, in any process, that has the mark; None without one."""
        for line in self._read():
            if line["epoch"] == number and "offsets" in line and mark_of(ranges := _ranges(line)) == mark:
                return ranges
        return None

    def remove(self) -> None:
        Path(self._path).unlink(missing_ok=True)

    def _read(self) -> list[dict[str, Any]]:
        try:
            text = Path(self._path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise io_error(error, self._path) from None
        lines = text.split("\n")[:-1]
        self._lines = len(lines)
        return [known for line in lines if (known := _parsed(line)) is not None]

    def _last_lines(self, most_bytes: int = _LAST_BYTES) -> list[dict[str, Any]]:
        """Return the last lines of the log."""
        try:
            with open(self._path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - most_bytes, 0))
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise io_error(error, self._path) from None
        whole = lines if size <= most_bytes else lines[1:]
        return [known for line in whole if (known := _parsed(line)) is not None]

    def _append(self, line: dict[str, Any], *, is_synced: bool) -> None:
        try:
            if self._lines < 0:
                self._open()
            with open(self._path, "ab") as file:
                file.write(f"{json.dumps(line)}\n".encode())
                file.flush()
                if is_synced:
                    os.fsync(file.fileno())
        except OSError as error:
            raise io_error(error, self._path) from None
        self._lines += 1

    def _open(self) -> None:
        """Create the log's folder, and terminate a torn last line, so that the next line does not become part of it."""
        Path(self._path).parent.mkdir(parents=True, exist_ok=True)
        self._lines = 0
        self._read()
        with open(self._path, "ab+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")

    def _shorten(self, written: int) -> None:
        """Rewrite the log with only the newest epochs."""
        kept = reversed(self.epochs(written, self._most_epochs))
        lines: list[dict[str, Any]] = []
        for one in kept:
            lines.append(_begin_line(one.number, one.began, one.ranges))
            if one.rows is not None:
                lines.append(_end_line(one.number, one.rows, one.seconds, one.bad_rows, one.totals, one.work))
        unfinished = f"{self._path}.new"
        try:
            with open(unfinished, "wb") as file:
                file.write("".join(f"{json.dumps(line)}\n" for line in lines).encode())
                file.flush()
                os.fsync(file.fileno())
            Path(unfinished).replace(self._path)
        except OSError as error:
            raise io_error(error, self._path) from None
        self._lines = len(lines)


def _epochs(lines: Iterable[dict[str, Any]], written: int, limit: int | None) -> list[LoggedEpoch]:
    """Return the epochs of lines, as `EpochLog.epochs` does."""
    begun: dict[int, LoggedEpoch] = {}
    ended: dict[int, LoggedEpoch] = {}
    for line in lines:
        number = line["epoch"]
        if "offsets" in line:
            begun[number] = LoggedEpoch(number, _ranges(line), line["began"])
            continue
        if "rolled_back" in line or number in ended:
            begun, ended = _until(number, begun), _until(number, ended)
        if "rolled_back" not in line and number in begun:
            totals = Totals(*line[_TOTALS]) if _TOTALS in line else None
            work = EpochWork(*line[_WORK]) if _WORK in line else None
            figures = line["rows"], line["seconds"], line.get("bad_rows"), totals, work
            ended[number] = LoggedEpoch(number, begun[number].ranges, begun[number].began, *figures)
    found = begun | _until(written, ended)
    newest = sorted(_until(written + 1, found).values(), key=lambda one: one.number, reverse=True)
    return newest if limit is None else newest[:limit]


def _until(number: int, epochs: dict[int, LoggedEpoch]) -> dict[int, LoggedEpoch]:
    return {one: known for one, known in epochs.items() if one <= number}


def _ranges(line: dict[str, Any]) -> Ranges:
    return tuple(
        (stream, position_from_numbers(start), position_from_numbers(end))
        for stream, (start, end) in line["offsets"].items()
    )


def _begin_line(number: int, began: str, ranges: Ranges) -> dict[str, Any]:
    offsets = {stream: [position_to_numbers(start), position_to_numbers(end)] for stream, start, end in ranges}
    return {"epoch": number, "began": began, "offsets": offsets}


def _end_line(
    number: int,
    rows: int,
    seconds: float | None,
    bad_rows: int | None,
    totals: Totals | None,
    work: EpochWork | None,
) -> dict[str, Any]:
    """Return the line about the end of an epoch. Lines of older versions lack the last figures: they are None."""
    line = {"epoch": number, "rows": rows, "seconds": seconds}
    worked = None if work is None else [round(one, 6) for one in work]
    counted = {"bad_rows": bad_rows, _TOTALS: totals, _WORK: worked}
    return line | {name: value for name, value in counted.items() if value is not None}


def _parsed(line: str | bytes) -> dict[str, Any] | None:
    """Parse a line, or return None for a torn one. The event of a torn line did not happen."""
    try:
        known: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return known


_RATE_EPOCHS = 20
"""Number of recent epochs from which the displayed rates are computed."""
_RATE_SECONDS = 10.0


@dataclass(slots=True)
class EpochFigures:
    """Figures of the epochs of a query that this process has run."""

    rows: int = 0
    bad_rows: int = 0
    """Records that did not parse."""
    epochs: int = 0
    failures: int = 0
    seconds: float = 0.0
    recent: list[tuple[float, int, float]] = field(default_factory=list)
    """End (by the monotonic clock), rows and seconds of each recent epoch."""
    fault: str = ""
    """Error that could not be recorded in the catalog."""
    totals: tuple[int, Totals] | None = None
    """Number of the last epoch that this process has run, and the totals of all epochs up to it."""
    running: int = 0
    """Number of the running epoch, until its figures have been added; 0 for none."""

    def add(self, rows: int, seconds: float, bad_rows: int) -> None:
        self.rows += rows
        self.bad_rows += bad_rows
        self.epochs += 1
        self.seconds += seconds
        self.recent = [*self.recent[1 - _RATE_EPOCHS :], (time.monotonic(), rows, seconds)]

    def totals_at(self, epoch: int) -> Totals | None:
        """Return the totals up to `epoch`, or None if this process has not run that epoch last."""
        return self.totals[1] if self.totals is not None and self.totals[0] == epoch else None

    @property
    def rows_per_second(self) -> float:
        """Rows of the recent epochs per second spent on them; 0 if there are none."""
        seconds = sum(spent for _, _, spent in self.recent)
        return sum(rows for _, rows, _ in self.recent) / seconds if seconds else 0.0

    @property
    def recent_rows_per_second(self) -> float:
        """Rows of the recent epochs per second that has passed, at most of the last ten seconds."""
        now, known = time.monotonic(), self.recent
        counted = [one for one in known if now - one[0] <= _RATE_SECONDS]
        if not counted:
            return 0.0
        end, _, spent = counted[0]
        seconds = now - end + spent if len(counted) == len(known) else _RATE_SECONDS
        return sum(rows for _, rows, _ in counted) / max(seconds, 1.0)
