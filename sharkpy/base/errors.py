"""Errors by phase and fault; each carries one readable line, a SQLSTATE and, where known, its place in the text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

from sharkpy.base.secrets import redacted


class SharkError(Exception):
    """Base of every error a user can see.

    `message` states the fact and quotes names; `hint` says what to do; `line`/`column` are 1-based
    places in the statement's text. Secrets that either quotes are *** in it.
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
    """A construct that the engine knows and does not carry out; the message names it."""

    sqlstate = "0A000"


class ConfigurationError(SharkError):
    """A setting, path or environment that cannot work."""

    sqlstate = "F0000"


class NotAllowedError(SharkError):
    """Refusal of a statement that this session has no right to run."""

    sqlstate = "42501"


class ExecutionError(SharkError):
    """A failure while a plan was running."""

    sqlstate = "58000"


class TableChangedError(ExecutionError):
    """Others wrote a table while a statement that changes its rows ran: the statement may be tried again."""

    sqlstate = "40001"


class SourceError(ExecutionError):
    """A file that is missing, unreadable or not in its format."""

    sqlstate = "58030"


class InvalidTextError(SourceError):
    """A Parquet file with text that is not UTF-8, which DuckDB does not read; the engine's own reader does. `path`: the
    file.
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
    """Refusal of a store of objects: it does not know who asks (28000), or does not allow it (42501)."""

    sqlstate = "42501"


class DataError(ExecutionError, ValueError):
    """Data that an algorithm cannot work on: NaN or NULL, one class only, fewer rows than clusters, wrong shapes."""

    sqlstate = "22000"


class ParameterError(SharkError, ValueError):
    """A parameter of a model or function whose value or type does not fit; the message names both."""

    sqlstate = "22023"


class NotFittedError(SharkError, ValueError, AttributeError):
    """A model that was asked for what only `fit` can know."""

    sqlstate = "55000"


class DatabaseEndedError(ExecutionError):
    """A query whose database in DuckDB ended under it, by the failure of this query or of another one."""

    sqlstate = "XX000"


class CorruptionError(ExecutionError):
    """Stored data whose checksum or structure is wrong; it was not read. `block_id` where it is a block's."""

    sqlstate = "XX001"
    block_id: str | None = None

    @classmethod
    def of_block(cls, block_id: str, fact: str) -> Self:
        """`fact` completes the sentence: block "…" is …"""
        error = cls(f'block "{block_id}" is {fact}')
        error.block_id = block_id
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"block_id": self.block_id})


class BlocksReplacedError(CorruptionError):
    """A lost block whose table has other blocks in its place by now: a query that is planned anew reads these."""

    sqlstate = "40001"


class WorkersLostError(ExecutionError):
    """Python workers that could not be started for a stage."""


class WorkersDiedError(ExecutionError):
    """Python workers that died at each try of a task: killed, crashed, or by a mapped file that was cut short."""


class SparkLostError(ExecutionError):
    """The JVM of Spark ended under a statement; the next job starts another one."""


class ResourceError(ExecutionError):
    """Out of disk, memory or a configured limit."""

    sqlstate = "53000"


class CancelledError(ExecutionError):
    sqlstate = "57014"


class StatementTimeoutError(CancelledError):
    """End of a statement that took longer than it may."""


class StatementClosedError(CancelledError):
    """The statement's reader has closed it."""


class InternalError(SharkError):
    """A broken invariant of the engine itself."""

    sqlstate = "XX000"


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint naming the candidate closest to `name`, or None."""
    lowered = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return f'did you mean "{lowered[close[0]]}"?' if close else None


_MOST_NAMES = 8


def there_are(names: Iterable[str]) -> str | None:
    """A hint that lists `names`, where there are not too many to be read at a glance, or None."""
    listed = sorted(names)
    return f"there {'are' if len(listed) > 1 else 'is'} {', '.join(listed)}" if 0 < len(listed) <= _MOST_NAMES else None
