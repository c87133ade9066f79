"""Last lines of the process's log, in memory."""

from __future__ import annotations

import itertools
import logging
from collections import deque
from datetime import UTC, datetime

from sharkpy.base.records import dataclass
from sharkpy.base.secrets import redacted

_MOST_LINES = 1_000
_MOST_CHARACTERS = 4_000
_FORMAT = logging.Formatter("%(message)s")


@dataclass(frozen=True, slots=True)
class LogLine:
    """Message of the log, without secrets. It may have several lines of text. Numbers ascend."""

    number: int
    time: datetime
    level: str
    logger: str
    text: str


class LogTail(logging.Handler):
    """Handler that keeps the last messages."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[LogLine] = deque(maxlen=_MOST_LINES)
        self._numbers = itertools.count(1)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = redacted(_FORMAT.format(record))[:_MOST_CHARACTERS]
            moment = datetime.fromtimestamp(record.created, UTC)
            self._lines.append(LogLine(next(self._numbers), moment, record.levelname.lower(), record.name, text))
        except Exception:  # noqa: BLE001 - as all handlers
            self.handleError(record)

    def after(self, number: int) -> list[LogLine]:
        """Return the messages after the one with this number, in order."""
        return [one for one in list(self._lines) if one.number > number]
