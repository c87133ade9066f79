"""Conversion of exceptions of tasks and of DuckDB to errors of the engine."""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Iterable, Iterator
from types import FrameType

from sharkpy.base.errors import (
    CancelledError,
    DatabaseEndedError,
    ExecutionError,
    InternalError,
    InvalidTextError,
    ResourceError,
    SharkError,
    SourceError,
    UnsupportedError,
)
from sharkpy.udf.value_limit import HINT, TOO_LARGE

_STATE = re.compile(r"\s?\[SQLSTATE (\w{5})\]")
_PYTHON_ERROR = re.compile(r"Python exception occurred while executing the UDF:\s*(?:\w+:)?\s*", re.DOTALL)
_STREAMED = re.compile(r"([A-Z][A-Za-z ]*?) Error: ")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_DUCKDB: tuple[tuple[str, type[SharkError], str | None], ...] = (
    ("InterruptException", CancelledError, None),
    ("OutOfRangeException", ExecutionError, "22003"),
    ("ConversionException", ExecutionError, "22018"),
    ("NotImplementedException", UnsupportedError, None),
    ("InvalidInputException", ExecutionError, "22000"),
    ("IOException", ExecutionError, None),
    ("ConstraintException", ExecutionError, "23000"),
)
"""Error and SQLSTATE for exceptions of DuckDB. Any other (parser, binder, catalog) is a fault of lowering."""
_OUT_OF_MEMORY = "OutOfMemoryException"
_ENDED = "database has been invalidated"
_INVALID_TEXT = re.compile(r'Invalid string encoding found in Parquet file "(.*)": value ', re.DOTALL)
_MORE_MEMORY = "raise shark.driver.memory, or shark.task.memory for RDD tasks"


def as_shark_error(error: BaseException) -> SharkError:
    """Return `error` if it is the engine's, else one of the engine's with the same message in a line."""
    if isinstance(error, SharkError):
        return error
    if isinstance(error, MemoryError):
        return ResourceError("out of memory", sqlstate="53200")
    if type(error).__module__.split(".")[0] in ("_duckdb", "duckdb"):
        return _from_duckdb(type(error).__name__, str(error))
    if isinstance(error, OSError):
        return _from_os(error)
    if type(error).__module__.startswith("pyarrow"):
        return ExecutionError(_first_lines(str(error)))
    place = traceback.extract_tb(error.__traceback__)
    where = f" in {place[-1].name}, line {place[-1].lineno}" if place else ""
    return InternalError(f"{type(error).__name__}{where}: {_first_lines(str(error))}")


def raised_by(label: str, rows: Iterable[object]) -> Iterator[object]:
    """Yield `rows`, which a user's program makes as they are read. Errors name the program's line."""
    try:
        yield from rows
    except (SharkError, MemoryError):
        raise
    except Exception as error:
        said = f": {_first_lines(str(error))}" if str(error) else ""
        calls = (call for call in traceback.walk_tb(error.__traceback__) if not _is_below(call[0]))
        frames = traceback.StackSummary.extract(calls)
        place = f" ({frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name})" if frames else ""
        raise ExecutionError(f"{label} raised {type(error).__name__}{said}{place}", sqlstate="38000") from error


def _is_below(frame: FrameType) -> bool:
    """True if a frame is in Spark's or the engine's code, by its module: folders may have any name."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in ("pyspark", "sharkpy")


def is_disk_full(text: str) -> bool:
    """True if a message of DuckDB or the JVM reports a full disk."""
    return any(os.strerror(number) in text for number in _NO_SPACE)


_LESS_NESTING = "split the statement: nest fewer functions, operators, set operations or subqueries"


def full_disk() -> ResourceError:
    return ResourceError("no space left for temporary files", sqlstate="53100")


def _from_os(error: OSError) -> SharkError:
    if error.errno is None and (streamed := _STREAMED.match(str(error))):
        # Arrow's reader of a DuckDB result raises OSError with DuckDB's message.
        name = streamed[1].replace(" ", "").lower()
        for known in (_OUT_OF_MEMORY, *(row[0] for row in _DUCKDB)):
            if known.removesuffix("Exception").lower() == name:
                return _from_duckdb(known, str(error))
    if error.errno in _NO_SPACE:
        return ResourceError(
            f'no space left on the device of "{error.filename or "a temporary file"}"', sqlstate="53100"
        )
    name = f' "{error.filename}"' if error.filename else ""
    return SourceError(f"cannot read or write{name}: {error.strerror or error}")


def _from_duckdb(name: str, text: str) -> SharkError:
    if is_disk_full(text):
        return full_disk()
    if name == _OUT_OF_MEMORY:
        return ResourceError(f"out of memory: {_readable(text)}", hint=_MORE_MEMORY, sqlstate="53200")
    if "expression depth limit" in text:
        return ResourceError("the statement is nested too deeply", hint=_LESS_NESTING, sqlstate="54001")
    if _ENDED in text:
        cause = text.partition("Original error:")[2].strip().strip('"') or "no message"
        return DatabaseEndedError(f"a failure inside DuckDB has ended its database: {_first_lines(cause)}")
    if invalid := _INVALID_TEXT.search(text):
        return InvalidTextError.of_file(invalid[1])
    for known, kind, sqlstate in _DUCKDB:
        if name == known:
            state = _STATE.search(text)
            message = _readable(_STATE.sub("", text))
            if state and state.group(1) == TOO_LARGE:
                return ResourceError(message.removesuffix(f"; {HINT}"), hint=HINT, sqlstate=TOO_LARGE)
            return kind(message, sqlstate=state.group(1) if state else sqlstate)
    return InternalError(f"DuckDB {name}: {_first_lines(text, 3)}")


def _readable(text: str) -> str:
    """Return DuckDB's message without its class, its echo of the SQL and its advice."""
    body = re.sub(r"^(?:[A-Z][A-Za-z-]*|INTERRUPT)(?: (?:of|[A-Z][A-Za-z]*))* Error: ", "", text.strip())
    body = _PYTHON_ERROR.sub("", body)
    message = _first_lines(body)
    return "the query was cancelled" if message == "Interrupted!" else message


def _first_lines(text: str, count: int = 1) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return " ".join(lines[:count]) if lines else "no message"
