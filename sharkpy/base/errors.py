"""Errors by phase and fault. Each has a one-line message, a SQLSTATE and, if known, a position in the statement."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

from sharkpy.base.secrets import redacted


class SharkError(Exception):
    """Base of all errors that users see.

    `message` states the fact and quotes names. `hint` says what to do. `line` and `column` are 1-based positions in the
    statement's text. Secrets in the message and the hint are replaced by ***.
    """

    sqlstate = "HY000"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        sqlstate: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message = redacted(message)
        super().__init__(self.message)
        self.hint = hint and redacted(hint)
        self.line = line
        self.column = column
        if sqlstate is not None:
            self.sqlstate = sqlstate

    def __str__(self) -> str:
        place = f" (line {self.line}, column {self.column})" if self.line is not None else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.message}{place}{hint} [SQLSTATE {self.sqlstate}]"

    def __reduce__(self) -> tuple[object, ...]:
        state = {name: getattr(self, name) for name in ("hint", "sqlstate", "line", "column")}
        return (_rebuild, (type(self), self.message, state))


def _rebuild(kind: type[SharkError], message: str, state: dict[str, object]) -> SharkError:
    return kind(message, **state)  # type: ignore[arg-type]


class ParseError(SharkError):
    """The text is not a statement of the language."""

    sqlstate = "42601"


class BindError(SharkError):
    """The statement is well formed but does not fit the catalog or the types."""

    sqlstate = "42000"


class TableNotFoundError(BindError):
    sqlstate = "42S02"


class TableExistsError(BindError):
    sqlstate = "42S01"


class DatabaseNotFoundError(BindError):
    sqlstate = "3F000"


class ColumnNotFoundError(BindError):
    sqlstate = "42703"


class AmbiguousColumnError(BindError):
    sqlstate = "42702"


class FunctionNotFoundError(BindError):
    sqlstate = "42883"


class TypeMismatchError(BindError):
    sqlstate = "42804"


class ColumnCountError(BindError):
    sqlstate = "21S01"


class UnsupportedError(SharkError):
    """A construct that the engine recognizes but does not support; the message names it."""

    sqlstate = "0A000"


class ConfigurationError(SharkError):
    """A setting, path or environment that does not work."""

    sqlstate = "F0000"


class NotAllowedError(SharkError):
    """The session does not have the right to run the statement."""

    sqlstate = "42501"


class ExecutionError(SharkError):
    """A failure while a plan was running."""

    sqlstate = "58000"


class TableChangedError(ExecutionError):
    """Another statement changed the table while this one was changing its rows. The statement may be retried."""

    sqlstate = "40001"


class SourceError(ExecutionError):
    """A file that is missing, unreadable or not in its format."""

    sqlstate = "58030"


class InvalidTextError(SourceError):
    """A Parquet file with text that is not UTF-8. DuckDB does not read it, but the engine's own reader does. `path` is
    the file.
    """

    path: str = ""

    @classmethod
    def of_file(cls, path: str) -> Self:
        error = cls(f'"{path}" has text that is not UTF-8', hint="run the statement again: it replaces such bytes then")
        error.path = path
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"path": self.path})


class StorageRefusedError(ExecutionError):
    """An object store refused a request: the credentials are unknown (28000), or they do not allow it (42501)."""

    sqlstate = "42501"


class DataError(ExecutionError, ValueError):
    """Data that an algorithm cannot work on: NaN or NULL, one class only, fewer rows than clusters, wrong shapes."""

    sqlstate = "22000"


class ParameterError(SharkError, ValueError):
    """A parameter of a model or function whose value or type does not fit; the message names both."""

    sqlstate = "22023"


class NotFittedError(SharkError, ValueError, AttributeError):
    """A model was used before `fit`."""

    sqlstate = "55000"


class DatabaseEndedError(ExecutionError):
    """The DuckDB database of a query was invalidated by a fatal error of this query or of another one."""

    sqlstate = "XX000"


class CorruptionError(ExecutionError):
    """Stored data has a wrong checksum or structure and was not read. `block_id` names the block, if it is one."""

    sqlstate = "XX001"
    block_id: str | None = None

    @classmethod
    def of_block(cls, block_id: str, fact: str) -> Self:
        """Error for a block; `fact` completes the sentence: block "…" is …"""
        error = cls(f'block "{block_id}" is {fact}')
        error.block_id = block_id
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"block_id": self.block_id})


class BlocksReplacedError(CorruptionError):
    """A block is lost, but its table has other blocks in its place by now. Planning the query again reads them."""

    sqlstate = "40001"


class WorkersLostError(ExecutionError):
    """Python workers could not be started for a stage."""


class WorkersDiedError(ExecutionError):
    """Python workers died at each attempt of a task: killed, crashed, or by a truncated memory-mapped file."""


class SparkLostError(ExecutionError):
    """The JVM of Spark ended during a statement. The next job starts another one."""


class ResourceError(ExecutionError):
    """Out of disk, memory or a configured limit."""

    sqlstate = "53000"


class CancelledError(ExecutionError):
    sqlstate = "57014"


class StatementTimeoutError(CancelledError):
    """A statement exceeded its time limit."""


class StatementClosedError(CancelledError):
    """The reader of a statement closed it."""


class InternalError(SharkError):
    """A broken invariant of the engine itself."""

    sqlstate = "XX000"


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return a hint with the candidate closest to `name`, or None if none is close."""
    lowered = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f'did you mean "{lowered[close[0]]}"?' if close else None


_MOST_NAMES = 8


def there_are(names: Iterable[str]) -> str | None:
    """Return a hint that lists `names`, or None if there are none or more than a reader takes in at a glance."""
    listed = sorted(names)
    return f"there {'are' if len(listed) > 1 else 'is'} {', '.join(listed)}" if 0 < len(listed) <= _MOST_NAMES else None
