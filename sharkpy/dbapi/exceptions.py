"""Exceptions of PEP 249, and their mapping from the engine's errors."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator

from sharkpy.base import errors
from sharkpy.base.errors import SharkError

Place = Callable[[int, int], tuple[int, int]]
"""Maps line and column of the executed text to line and column of the given text."""


class Warning(Exception):  # noqa: A001 - the name is PEP 249's
    """Warning of PEP 249. It is never raised: there are no warnings that a program has to handle."""


class Error(Exception):
    """Base of all errors of the module. `sqlstate`, `hint`, `line` and `column` come from the engine's error."""

    def __init__(self, message: str, cause: SharkError | None = None) -> None:
        super().__init__(message)
        self.message = cause.message if cause else message
        self.sqlstate = cause.sqlstate if cause else "HY000"
        self.hint = cause.hint if cause else None
        self.line = cause.line if cause else None
        self.column = cause.column if cause else None


class InterfaceError(Error):
    """Error of use: the connection or cursor is closed, or was used in a way that PEP 249 does not allow."""


class DatabaseError(Error):
    """Base of the engine's errors."""


class DataError(DatabaseError):
    """Error of a value that does not fit: out of range, not a date, too many digits."""


class OperationalError(DatabaseError):
    """Error with a cause outside of the statement: resources, files, configuration, a cancelled query."""


class IntegrityError(DatabaseError):
    """Error of SQLSTATE class 23. Tables have no keys, so only functions of the engine raise it."""


class InternalError(DatabaseError):
    """Error of a broken invariant of the engine."""


class ProgrammingError(DatabaseError):
    """Error of a statement that does not parse, names a missing object, or has the wrong number of parameters."""


class NotSupportedError(DatabaseError):
    """Error of a construct that the engine does not support; the message names it."""


_BY_SQLSTATE_CLASS: dict[str, type[Error]] = {
    "08": InterfaceError,
    "22": DataError,
    "23": IntegrityError,
    "24": InterfaceError,
}
_BY_KIND: tuple[tuple[type[SharkError], type[Error]], ...] = (
    (errors.ParseError, ProgrammingError),
    (errors.BindError, ProgrammingError),
    (errors.ParameterError, ProgrammingError),
    (errors.UnsupportedError, NotSupportedError),
    (errors.ConfigurationError, OperationalError),
    (errors.ExecutionError, OperationalError),
    (errors.InternalError, InternalError),
    (SharkError, DatabaseError),
)


def error_of(error: SharkError) -> Error:
    """Exception for an engine's error: by the class of its SQLSTATE if that tells more than the kind of error."""
    kind = _BY_SQLSTATE_CLASS.get(error.sqlstate[:2])
    kind = kind or next(mine for theirs, mine in _BY_KIND if isinstance(error, theirs))
    return kind(str(error), error)


@contextlib.contextmanager
def translated(place: Place | None = None) -> Iterator[None]:
    """Translate the engine's errors to errors of this module. `place` maps their place to the given text."""
    from sharkpy.execution.tasks.error_conversion import as_shark_error

    try:
        yield
    except Error:
        raise
    except Exception as error:
        known = copy.copy(as_shark_error(error))
        if place is not None and known.line is not None and known.column is not None:
            known.line, known.column = place(known.line, known.column)
        raise error_of(known) from error
