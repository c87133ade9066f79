"""Functions of a program by value, as a catalog stores them for all sessions."""

from __future__ import annotations

import sys

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.udf.user.function import Shipped, UserFunction
from sharkpy.udf.user.python_code import pickled, unpickled

MAX_BYTES = 16 << 20
"""Maximum bytes of a stored function, which each session that calls it reads."""
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def kept_code(function: UserFunction) -> bytes:
    """Return the bytes of a function. Raise UnsupportedError for a function of whole tables, BindError for one that is
    too large.
    """
    if not isinstance(function, Shipped):
        raise UnsupportedError(f'the permanent function "{function.name}" of whole tables', hint="register_function")
    data = pickled(function)
    if len(data) > MAX_BYTES:
        message = f'function "{function.name}" has {len(data)} bytes with what it refers to, more than {MAX_BYTES}'
        raise BindError(message, hint="let it read large data from a file", sqlstate="54000")
    return b"%s\n%s" % (_VERSION.encode(), data)


def of_kept_code(name: str, code: bytes) -> UserFunction:
    """Load a function. Raise BindError if another version of Python has made it, or if modules that it needs are
    missing.
    """
    version, _, data = code.partition(b"\n")
    again = "make it again with ctx.create_function(…, replace=True)"
    if version.decode() != _VERSION:
        raise BindError(f'function "{name}" was made by Python {version.decode()}, this is {_VERSION}', hint=again)
    try:
        function = unpickled(data)
        if (own := getattr(function, "code", None)) is not None:
            own.load()
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BindError(f'function "{name}" cannot be loaded: {reason}', hint=again) from error
    assert isinstance(function, Shipped)  # kept_code stores no other type
    found: UserFunction = function  # type: ignore[assignment]
    return found
