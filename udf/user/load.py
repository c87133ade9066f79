"""The Python object of CREATE FUNCTION … AS 'module.name'."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sharkpy.base.errors import BindError, SourceError
from sharkpy.udf.user.function import UserFunction
from sharkpy.udf.user.make import user_function

_lock = threading.RLock()


def is_python(target: str, files: Sequence[str]) -> bool:
    """Return whether there is a Python module of that name, in the given files or on Python's path.

    Raise SourceError if a file no longer exists.
    """
    for file in files:
        if not Path(file).exists():
            raise SourceError(f'cannot read "{file}": there is no such file')
    module = target.rpartition(".")[0]
    if not module:
        return False
    if any(_module_file(module, file) is not None for file in files):
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def load_python(name: str, target: str, files: Sequence[str]) -> UserFunction:
    """Load the function. Raise BindError if the module has no object of that name that can be a function."""
    module_name, _, attribute = target.rpartition(".")
    with _lock, _as_bind_error(name, target):
        module = _module(module_name, files)
    if not hasattr(module, attribute):
        raise BindError(f'function "{name}": module "{module_name}" has no "{attribute}"')
    return user_function(name, getattr(module, attribute))


def _module(name: str, files: Sequence[str]) -> types.ModuleType:
    for file in files:
        found = _module_file(name, file)
        if found is not None:
            return _from_file(name, found)
    return importlib.import_module(name)


def _module_file(name: str, file: str) -> Path | None:
    """Return the source of module `name`: the file itself, or a file in it if it is a folder, zip or egg."""
    path = Path(file)
    if path.suffix == ".py" and path.stem == name.rpartition(".")[2] and path.is_file():
        return path
    inside = path / Path(*name.split(".")).with_suffix(".py")
    return inside if path.is_dir() and inside.is_file() else None


def _from_file(name: str, path: Path) -> types.ModuleType:
    """Load a separate module, always from the file. Its definitions are shipped by value."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name], before = module, sys.modules.get(name)
    try:
        spec.loader.exec_module(module)
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
    return module


@contextmanager
def _as_bind_error(name: str, target: str) -> Iterator[None]:
    """Convert an exception of a module's import to a BindError."""
    try:
        yield
    except (BindError, SourceError):
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BindError(f'function "{name}": "{target}" cannot be imported: {reason}') from error
