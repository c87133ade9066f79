"""Construction of user functions from Python objects: declared in a program, or named in CREATE FUNCTION …
AS 'module.name'.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sharkpy.base.errors import BindError, SourceError
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.user import declare
from sharkpy.udf.user.aggregate import PythonAggregate
from sharkpy.udf.user.declare import NULLS, Options, duration_microseconds
from sharkpy.udf.user.function import UserFunction
from sharkpy.udf.user.python_code import place_of, python_code
from sharkpy.udf.user.relation import PythonRelation
from sharkpy.udf.user.scalar import PythonScalar, compile_note
from sharkpy.udf.user.table import PythonTable
from sharkpy.values.types import BINARY, TIMESTAMP

_AGGREGATE_METHODS = ("init", "finish")


def _doc(target: Callable[..., Any]) -> str:
    return (inspect.getdoc(target) or "").split("\n")[0]


def _scalar(name: str, target: Callable[..., Any], options: Options) -> UserFunction:
    arguments = declare.argument_types(name, target, options, target)
    result = declare.result_type(name, target, options, target)
    code = python_code(name, target)
    nulls, by_row = NULLS[options.null], options.form == "row"
    wanted = options.compiled if options.compiled is not None else by_row
    note = ""
    if wanted:
        refused = nulls is not NullPolicy.PROPAGATE or options.repeat or options.form == "arrow"
        note = (
            "only functions of numbers that are not called with NULLs are compiled"
            if refused
            else compile_note(code.load(), arguments, by_row=by_row)
        )
        if note and options.compiled:
            raise BindError(f'function "{name}" does not compile: {note}', hint="leave out compiled=True")
    is_compiled = wanted and not note
    return PythonScalar(
        name,
        code,
        arguments,
        result,
        options.form,
        nulls,
        options.deterministic,
        is_compiled,
        options.repeat,
        _doc(target),
        note,
    )


def _aggregate(name: str, target: Callable[..., Any], options: Options) -> UserFunction:
    if not inspect.isclass(target):
        raise BindError(
            f'function "{name}": an aggregate is a class', hint="with init, update, finish, and perhaps merge"
        )
    missing = [method for method in _AGGREGATE_METHODS if not hasattr(target, method)]
    if not hasattr(target, "update") and not hasattr(target, "update_batch"):
        missing.append("update")
    if missing:
        raise BindError(f'function "{name}": class {target.__name__} has no method {", ".join(missing)}')
    instance = _instance(name, target)
    batch = getattr(instance, "update_batch", None)
    update = instance.update if hasattr(instance, "update") else instance.update_batch
    arguments = declare.argument_types(name, target, options, _without_state(update))
    result = declare.result_type(name, target, options, instance.finish)
    state = declare.as_type(name, options.state) if options.state is not None else BINARY
    merges = hasattr(target, "merge")
    if options.timeout is not None and (merges or arguments[:1] != (TIMESTAMP,)):
        message = f'function "{name}": a timeout is for an aggregate without merge whose first argument is a TIMESTAMP'
        raise BindError(message)
    return PythonAggregate(
        name,
        python_code(name, target),
        arguments,
        result,
        state,
        options.state is None,
        batch is not None,
        NULLS[options.null],
        _doc(target),
        merges,
        None if options.timeout is None else duration_microseconds(options.timeout),
    )


def _table(name: str, target: Callable[..., Any], options: Options) -> UserFunction:
    if not inspect.isclass(target) and declare.is_relation(target, options):
        return _relation(name, target, options)
    called = target
    if inspect.isclass(target):
        if not hasattr(target, "process"):
            raise BindError(f'function "{name}": class {target.__name__} has no method process')
        called = _instance(name, target).process
    arguments = declare.argument_types(name, target, options, called)
    columns = declare.result_columns(name, target, options, called)
    return PythonTable(
        name,
        python_code(name, target),
        arguments,
        columns,
        NULLS[options.null],
        options.repeat,
        _doc(target),
        0 if options.repeat else declare.num_optional(called, len(arguments)),
    )


def _relation(name: str, target: Callable[..., Any], options: Options) -> UserFunction:
    return PythonRelation(
        name,
        target,
        inspect.signature(target),
        declare.relation_kinds(name, target, options),
        declare.relation_columns(name, target, options),
        place_of(target),
        _doc(target),
    )


def _instance(name: str, target: type) -> Any:
    try:
        return target()
    except Exception as error:
        raise BindError(
            f'function "{name}": class {target.__name__} cannot be made without arguments: {error}'
        ) from error


def _without_state(update: Callable[..., Any]) -> Callable[..., Any]:
    """Return `update` as a function of only the row's values."""

    def called(*_: Any) -> None: ...

    signature = inspect.signature(update)
    parameters = list(signature.parameters.values())
    named = parameters[:1] and parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL
    called.__signature__ = signature.replace(parameters=parameters[1:] if named else parameters)  # type: ignore[attr-defined]
    called.__annotations__ = dict(getattr(update, "__annotations__", {}))
    return called


_MAKERS: dict[str, Callable[[str, Callable[..., Any], Options], UserFunction]] = {
    "scalar": _scalar,
    "aggregate": _aggregate,
    "table": _table,
}


def user_function(
    name: str, value: object, arguments: Iterable[declare.TypeLike] | None = None, returns: declare.Returns = None
) -> UserFunction:
    """Make the function `name` from a Python object. Raise BindError if that is impossible, or its types are
    unknown.
    """
    if isinstance(value, declare.Declared):
        kind, target, options = value.kind, value.target, value.options
    elif callable(value):
        kind, target, options = _kind(value), value, Options(null="call" if _kind(value) == "table" else "propagate")
    else:
        raise BindError(f'function "{name}" cannot be made of {value!r}', hint="give a function or a class")
    if arguments is not None:
        options = replace(options, arguments=tuple(arguments))
    if returns is not None:
        options = replace(options, returns=returns)
    _check(name, options)
    return _MAKERS[kind](name.lower(), target, options)


def _kind(value: Callable[..., Any]) -> str:
    if inspect.isclass(value):
        return "table" if hasattr(value, "process") else "aggregate"
    is_table = inspect.isgeneratorfunction(value) or declare.is_relation(value, Options())
    return "table" if is_table else "scalar"


def _check(name: str, options: Options) -> None:
    for option, given, known in (("form", options.form, declare.FORMS), ("null", options.null, tuple(NULLS))):
        if given not in known:
            raise BindError(f'function "{name}": {option} is "{given}"', hint=f"it is one of {', '.join(known)}")


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
