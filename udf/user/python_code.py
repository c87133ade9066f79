"""Python objects of users as bytes: shipped by cloudpickle, loaded once per process, with errors that name the
function. A catalog stores whole functions in the same way, for all sessions.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import pickle
import re
import site
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sharkpy.base.errors import BindError, ExecutionError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.udf.user.function import Shipped, UserFunction

_CLASS = re.compile(r"\s*class\s+(\w+)")
RAISED = "38000"
"""SQLSTATE of an exception in an external routine."""
_loaded: dict[bytes, Any] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class PythonCode:
    """A callable or class by value, with its source position."""

    payload: bytes
    file: str
    line: int

    @property
    def place(self) -> str:
        return f"{self.file}, line {self.line}"

    def load(self) -> Any:
        """Return the object. It is the same for the whole process, and the user's own in the process that made it."""
        with _lock:
            if self.payload not in _loaded:
                _loaded[self.payload] = unpickled(self.payload)
            return _loaded[self.payload]


def python_code(name: str, value: Callable[..., object] | type) -> PythonCode:
    """Pickle the object. Raise BindError if it cannot be shipped to tasks."""
    file, line = place_of(value)
    try:
        payload = _pickled(value)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BindError(
            f'function "{name}" cannot be shipped to tasks: {reason}',
            hint="it must not hold what belongs to this process, as locks, files and connections do",
        ) from error
    # Unpickling here would replace the methods of the user's classes by methods of their copies.
    _loaded.setdefault(payload, value)
    return PythonCode(payload, file, line)


def _pickled(value: Any) -> bytes:
    """Pickle by value if the module is the user's own: workers may be unable to import it."""
    import cloudpickle

    module = inspect.getmodule(value)
    by_value = module is not None and sys.modules.get(module.__name__) is module and not _is_installed(module)
    if module is None or not by_value or module.__name__ == "__main__":
        return bytes(cloudpickle.dumps(value))
    is_new = module.__name__ not in cloudpickle.list_registry_pickle_by_value()
    with _lock:
        if is_new:
            cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(value))
        finally:
            if is_new:
                cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: Any) -> bool:
    """Return whether all workers have the module: it is Python's, the engine's, or from an installed package."""
    if module.__name__.partition(".")[0] == "sharkpy":
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        return True
    places = [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    if site.ENABLE_USER_SITE:
        places.append(site.getusersitepackages())
    return any(Path(file).is_relative_to(place) for place in places)


def place_of(value: Any) -> tuple[str, int]:
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    if code is not None:
        return code.co_filename, code.co_firstlineno
    try:
        file = inspect.getsourcefile(value) or "?"
    except (OSError, TypeError):
        return getattr(sys.modules.get(getattr(value, "__module__", "")), "__file__", None) or "?", 1
    return file, _line_of_class(getattr(value, "__name__", ""), file)


def _line_of_class(name: str, file: str) -> int:
    """Return the first line of a class in a file, or 1 if it is not found.

    Python 3.11's inspect parses the file for that, and fails if two threads parse at once (CPython issue 106905).
    """
    for number, line in enumerate(linecache.getlines(file), 1):
        found = _CLASS.match(line)
        if found is not None and found[1] == name:
            return number
    return 1


def pickled(value: Any) -> bytes:
    """Pickle a state of an aggregate. It is pickled by value if its class was shipped by value."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, ImportError, TypeError):
        import cloudpickle

        return bytes(cloudpickle.dumps(value))


def unpickled(data: bytes | memoryview) -> Any:
    """Unpickle the output of `python_code` or `pickled`. Their data comes only from the session."""
    return pickle.loads(data)  # noqa: TID251 - a user's Python object has no other form


@contextlib.contextmanager
def naming_errors(name: str, code: PythonCode) -> Iterator[None]:
    """Convert an exception in the block to an ExecutionError that names the function and the line."""
    try:
        yield
    except ExecutionError:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == code.file]
        said = f": {str(error).splitlines()[0]}" if str(error) else ""
        place = f"{code.file}, line {lines[-1] if lines else code.line}"
        message = f'function "{name}" raised {type(error).__name__}{said} ({place})'
        raise ExecutionError(message, sqlstate=RAISED) from error


def wrong_result(name: str, code: PythonCode, fact: str) -> ExecutionError:
    return ExecutionError(f'function "{name}" {fact} ({code.place})', sqlstate="39000")


MAX_FUNCTION_BYTES = 16 << 20
"""Maximum bytes of a stored function, which each session that calls it reads."""
_PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def function_to_bytes(function: UserFunction) -> bytes:
    """Return the bytes of a function. Raise UnsupportedError for a function of whole tables, BindError for one that is
    too large.
    """
    if not isinstance(function, Shipped):
        raise UnsupportedError(f'the permanent function "{function.name}" of whole tables', hint="register_function")
    data = pickled(function)
    if len(data) > MAX_FUNCTION_BYTES:
        message = (
            f'function "{function.name}" has {len(data)} bytes with what it refers to, more than {MAX_FUNCTION_BYTES}'
        )
        raise BindError(message, hint="let it read large data from a file", sqlstate="54000")
    return b"%s\n%s" % (_PYTHON_VERSION.encode(), data)


def function_from_bytes(name: str, code: bytes) -> UserFunction:
    """Load a function. Raise BindError if another version of Python has made it, or if modules that it needs are
    missing.
    """
    version, _, data = code.partition(b"\n")
    again = "make it again with ctx.create_function(…, replace=True)"
    if version.decode() != _PYTHON_VERSION:
        raise BindError(
            f'function "{name}" was made by Python {version.decode()}, this is {_PYTHON_VERSION}', hint=again
        )
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
