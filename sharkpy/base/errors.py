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


SQLSTATES: dict[str, str] = {
    "07001": "The statement's parameters do not fit its placeholders.",
    "08001": "A server or a storage cannot be reached.",
    "08003": "The session or the engine is closed.",
    "08004": "The server does not accept the connection.",
    "08006": "A connection was lost, or a storage failed again and again.",
    "08P01": "A call breaks the protocol.",
    "08S01": "A connection between client and server failed.",
    "0A000": "The engine knows the construct and does not support it.",
    "10608": "An XPath expression cannot be evaluated.",
    "21000": "Several rows match, but only one may.",
    "21S01": "The number of values is not the number of columns.",
    "22000": "Data does not fit what is done with it.",
    "22003": "A number is out of range.",
    "22007": "A date, timestamp or pattern is malformed.",
    "22008": "A date or timestamp is out of range.",
    "2200M": "A text is not XML.",
    "22015": "An interval is out of range.",
    "22018": "A text cannot be converted to the type.",
    "22019": "The character after ESCAPE is not one character.",
    "2201B": "A regular expression is malformed, or has no such group.",
    "2201W": "LIMIT or OFFSET is not a whole number.",
    "22021": "Bytes are not text of the encoding.",
    "22023": "A value of a setting, option or argument is not allowed.",
    "22025": "An escape character is followed by a wrong character.",
    "2202H": "The size of a sample is out of range.",
    "22P04": "A record of a file is malformed.",
    "23000": "A constraint refuses a row.",
    "24000": "The result is closed, or has no rows.",
    "25006": "The warehouse is read-only.",
    "28000": "A login or a key is not accepted.",
    "2BP01": "Other objects depend on the object.",
    "38000": "A user's function or program failed.",
    "39000": "A user's function returned something it may not.",
    "3F000": "The database does not exist.",
    "40001": "Another statement changed the table. Run the statement again.",
    "40003": "It is unknown whether a write succeeded.",
    "42000": "The statement does not fit the catalog.",
    "42501": "The session has no right to do this.",
    "42601": "The text is not a statement.",
    "42602": "A name is not allowed.",
    "42611": "A column is declared in a way that is not allowed.",
    "42701": "Two columns have one name.",
    "42702": "A column's name is ambiguous.",
    "42703": "The column does not exist.",
    "42704": "The object does not exist: a setting, constraint, stream or statement.",
    "42710": "The object exists already.",
    "42723": "The function exists already.",
    "42803": "A column is not grouped, or an aggregate is not allowed here.",
    "42804": "A type does not fit.",
    "42809": "The object is of another kind than the statement needs.",
    "42811": "The number of column names is not the number of columns.",
    "42823": "A subquery has a wrong number of columns.",
    "42826": "The parts of a UNION, EXCEPT or INTERSECT have different numbers of columns.",
    "42836": "A recursive query is malformed, or takes too many steps.",
    "42883": "The function does not exist, or does not take these arguments.",
    "42939": "The name is reserved.",
    "42K0F": "A permanent object would depend on a temporary one.",
    "42P04": "The database exists already.",
    "42P20": "A window is malformed.",
    "42S01": "The table exists already.",
    "42S02": "The table does not exist.",
    "53000": "A resource is exhausted.",
    "53100": "A disk or a limit of stored bytes is full.",
    "53200": "Memory, or a limit of memory, is exhausted.",
    "53300": "Too many statements, sessions or connections. Try again later.",
    "54000": "A limit of the engine is exceeded.",
    "54001": "A statement or value is nested too deeply.",
    "54011": "There are too many columns.",
    "55000": "The object is not in the state that the statement needs.",
    "55006": "Another process uses the object.",
    "57014": "The statement was cancelled, or took too long.",
    "57P01": "The server is shutting down. Connect again later.",
    "57P03": "The storage is too busy. Try again later.",
    "58000": "A plan failed while it ran.",
    "58030": "A file cannot be read or written.",
    "58P01": "The file or folder does not exist.",
    "58P02": "The file exists already.",
    "F0000": "A setting, path or environment cannot work.",
    "HY000": "Any other error.",
    "HYC00": "The client asks for an optional feature that is not supported.",
    "XX000": "An error of the engine itself. Please report it.",
    "XX001": "Stored data is damaged. It was not read.",
}
