"""Construction of user functions from declared Python objects, by kind."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from sharkpy.base.errors import BindError
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.user import declare
from sharkpy.udf.user.aggregate import PythonAggregate
from sharkpy.udf.user.compiled import compile_note
from sharkpy.udf.user.declare import NULLS, Options
from sharkpy.udf.user.function import UserFunction
from sharkpy.udf.user.length_of_time import microseconds
from sharkpy.udf.user.python_code import place_of, python_code
from sharkpy.udf.user.relation import PythonRelation
from sharkpy.udf.user.scalar import PythonScalar
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
        None if options.timeout is None else microseconds(options.timeout),
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
