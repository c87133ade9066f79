"""Durations, as a program gives them."""

from __future__ import annotations

import datetime
import decimal
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from sharkpy.base.errors import BindError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.user.relation import TABLE, Kind
from sharkpy.values.type_parser import parse_columns, parse_type
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
)

Duration = str | datetime.timedelta
"""Such as "30 minutes"."""
_DURATION = re.compile(r"\s*([0-9]{1,9})\s*([A-Za-z]{1,12})\s*")
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}


def duration_microseconds(length: Duration) -> int:
    """Return a duration above 0 in microseconds. Raise BindError for any other value."""
    if isinstance(length, datetime.timedelta):
        number, unit = length // datetime.timedelta(microseconds=1), 1
    else:
        found = _DURATION.fullmatch(str(length))
        number, unit = (0, 0) if found is None else (int(found[1]), _UNITS.get(found[2].lower(), 0))
    if number * unit <= 0:
        raise BindError(f'"{length}" is not a length of time', hint='such as "30 minutes"')
    return number * unit


TypeLike = str | DataType
Returns = TypeLike | Mapping[str, TypeLike] | None
"""A type. For table functions, the columns: a struct type, "a int, b string", or types by name."""
NULLS = {"propagate": NullPolicy.PROPAGATE, "call": NullPolicy.CUSTOM}
FORMS = ("numpy", "arrow", "row")
"""Forms of a function's arguments: NumPy arrays, Arrow arrays, or the values of one row."""

_ANNOTATIONS: dict[object, DataType] = {
    bool: BOOLEAN,
    int: BIGINT,
    float: DOUBLE,
    str: STRING,
    bytes: BINARY,
    datetime.date: DATE,
    datetime.datetime: TIMESTAMP,
    decimal.Decimal: DecimalType(38, 18),
}
_NUMPY = {
    "int8": TINYINT,
    "int16": SMALLINT,
    "int32": INT,
    "int64": BIGINT,
    "float32": FLOAT,
    "float64": DOUBLE,
    "bool": BOOLEAN,
    "str_": STRING,
}


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the decorators. Types that are not given are taken from annotations."""

    arguments: tuple[TypeLike, ...] | None = None
    returns: Returns = None
    form: str = "numpy"
    null: str = "propagate"
    deterministic: bool = True
    compiled: bool | None = None
    repeat: bool = False
    state: TypeLike | None = None
    timeout: Duration | None = None


class Declared:
    """A function or class with its decorator's options. Calls are passed to it unchanged."""

    def __init__(self, kind: str, target: Callable[..., Any], options: Options) -> None:
        self.kind, self.target, self.options = kind, target, options
        functools.update_wrapper(self, target, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.target(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        return Declared, (self.kind, self.target, self.options)


Decorator = Callable[[Callable[..., Any]], Declared]


@overload
def function(target: Callable[..., Any], /) -> Declared: ...
@overload
def function(
    *arguments: TypeLike,
    returns: TypeLike | None = None,
    form: Literal["numpy", "arrow", "row"] = "numpy",
    null: Literal["propagate", "call"] = "propagate",
    deterministic: bool = True,
    compiled: bool | None = None,
    repeat: bool = False,
) -> Decorator: ...
def function(
    *arguments: Any,
    returns: Returns = None,
    form: str = "numpy",
    null: str = "propagate",
    deterministic: bool = True,
    compiled: bool | None = None,
    repeat: bool = False,
) -> Any:
    """Declare a scalar function of the given argument types, or of its annotations' types.

    `form`: it takes "numpy" or "arrow" arrays of many rows and returns an array of the same length, or it takes the
    values of one "row". `null`: "propagate" returns NULL if an argument is NULL and skips such rows; "call" passes
    NULLs as masked arrays, Arrow NULLs or None. `deterministic` False: equal arguments may give different values.
    `compiled`: compile with numba. None: compile if it takes rows of numbers and compiles. `repeat`: the last argument
    may be repeated.
    """
    return _decorate("scalar", arguments, Options(None, returns, form, null, deterministic, compiled, repeat))


def aggregate(
    *arguments: Any,
    returns: TypeLike | None = None,
    null: str = "propagate",
    state: TypeLike | None = None,
    timeout: Duration | None = None,
) -> Any:
    """Declare an aggregate: a class with init() -> state, update(state, *values) -> state, merge(state, other) -> state
    and finish(state) -> value.

    Without `merge` it takes the rows of a group one by one, in the order of their values, the first argument first. A
    continuous table resumes from the state of its last rows. With a `timeout`, such as "30 minutes", the first argument
    must be a time. A row whose time is more than the timeout after the previous row begins a new state, and a
    continuous table forgets a group when the watermark has passed its timeout.

    `update_batch(state, *arrays) -> state`, if the class has it, takes all rows of a group in a task at once, as NumPy
    arrays. States are pickled, or values of the type `state`. `null`: "propagate" skips rows with NULLs.
    """
    return _decorate("aggregate", arguments, Options(None, returns, "row", null, state=state, timeout=timeout))


def table_function(*arguments: Any, returns: Returns = None, null: str = "call", repeat: bool = False) -> Any:
    """Declare a table function: a generator function of one row's values, or a class with process(*values) and close().

    A task creates the class once, and calls `process` for each of its rows and `close` at the end. Both yield rows as
    tuples, or single values. `returns` names the columns: {"word": "string", "n": "int"}, or "word string, n int".
    Arguments with defaults may be omitted from a call.

    With a parameter annotated as TableRDD, or of the type "table", it is a function of whole tables for GENERATE. It is
    called once, with a TableRDD for a table or query and Python values for literals. It returns a TableRDD, an RDD, an
    Arrow table, a data frame, an array, rows as tuples or dicts, or a fitted model.
    """
    return _decorate("table", arguments, Options(None, returns, "row", null, repeat=repeat))


def _decorate(kind: str, arguments: Sequence[Any], options: Options) -> Any:
    if len(arguments) == 1 and callable(arguments[0]):
        return Declared(kind, arguments[0], options)
    given = replace(options, arguments=tuple(arguments) or None)
    return lambda target: Declared(kind, target, given)


def argument_types(
    name: str, target: Callable[..., Any], options: Options, called: Callable[..., Any]
) -> tuple[DataType, ...]:
    """Return the given types, or else the annotated types of `called`."""
    if options.arguments is not None:
        found = tuple(as_type(name, one) for one in options.arguments)
    else:
        hints = _hints(target, called)
        parameters = _parameters(called)
        found = tuple(_annotated(name, parameter.name, hints) for parameter in parameters)
    if options.repeat and not found:
        raise BindError(f'function "{name}" has no argument to repeat')
    _check_count(name, called, len(found))
    return found


def _parameters(called: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []


def num_optional(called: Callable[..., Any], count: int) -> int:
    """Return how many of the first `count` parameters have defaults, counted from the last one."""
    parameters = [one for one in _parameters(called) if one.kind not in _STARRED][:count]
    if len(parameters) < count:
        return 0
    has_default = [one.default is not inspect.Parameter.empty for one in parameters]
    return next((place for place, has in enumerate(reversed(has_default)) if not has), len(has_default))


def _check_count(name: str, called: Callable[..., Any], count: int) -> None:
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        raise BindError(f'function "{name}" does not take {count} arguments: {error}') from None


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _TableRDD:
    """Placeholder for the class in annotations of modules that import it only for type checkers. `RDD[Any]` is
    one too.
    """

    def __class_getitem__(cls, _: object) -> type:
        return cls


_TableRDD.__name__ = "TableRDD"


def _relation_hints(target: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(target, localns={"TableRDD": _TableRDD, "RDD": _TableRDD})
    except Exception:  # noqa: BLE001 - annotations are the user's code
        return dict(getattr(target, "__annotations__", {}))


def is_relation(target: Callable[..., Any], options: Options) -> bool:
    """Return whether a parameter takes a whole table."""
    if options.arguments is not None:
        return TABLE in options.arguments
    hints = _relation_hints(target)
    return any(_is_table(hints.get(parameter.name)) for parameter in _parameters(target))


def _is_table(hint: Any) -> bool:
    """Return whether an annotation is TableRDD, or RDD, possibly with None."""
    name = getattr(typing.get_origin(hint) or hint, "__name__", "")
    return name in ("TableRDD", "RDD") or any(map(_is_table, typing.get_args(hint)))


def relation_kinds(name: str, target: Callable[..., Any], options: Options) -> dict[str, Kind]:
    """Return the kind of each parameter, from the given types, else from annotations. None: any value."""
    parameters = [one.name for one in _parameters(target) if one.kind not in _STARRED]
    if options.arguments is not None:
        _check_count(name, target, len(options.arguments))
        given = (one if one == TABLE else as_type(name, one) for one in options.arguments)
        return dict(zip(parameters, given, strict=False))
    hints = _relation_hints(target)
    found = {one.name: hints.get(one.name) for one in _parameters(target)}
    return {name: TABLE if _is_table(hint) else annotated_type(hint) for name, hint in found.items()}


def relation_columns(name: str, target: Callable[..., Any], options: Options) -> StructType | None:
    """Return the columns of a function of whole tables, or None if its result defines them."""
    return None if options.returns is None else result_columns(name, target, options, target)


def result_type(name: str, target: Callable[..., Any], options: Options, called: Callable[..., Any]) -> DataType:
    """Return the given type, else the annotated one."""
    if isinstance(options.returns, Mapping):
        raise BindError(f'function "{name}" returns one value: give its type')
    if options.returns is not None:
        return as_type(name, options.returns)
    return _annotated(name, "return", _hints(target, called))


def result_columns(name: str, target: Callable[..., Any], options: Options, called: Callable[..., Any]) -> StructType:
    """Return the columns of a table function: the given ones, or one named `col`."""
    if isinstance(options.returns, Mapping):
        names = tuple(key.lower() for key in options.returns)
        found: DataType = StructType(names, tuple(as_type(name, one) for one in options.returns.values()))
    elif options.returns is not None:
        found = _columns(options.returns) or as_type(name, options.returns)
    else:
        found = _yielded(name, _hints(target, called))
    return found if isinstance(found, StructType) else StructType(("col",), (found,))


def _columns(given: TypeLike) -> StructType | None:
    """Return the columns of a text such as "a int, b string", or None if it is not one, such as a type."""
    if not isinstance(given, str):
        return None
    try:
        columns = parse_columns(given)
    except SharkError:
        return None
    return StructType(tuple(name.lower() for name, _ in columns), tuple(dtype for _, dtype in columns))


def as_type(name: str, given: TypeLike) -> DataType:
    if isinstance(given, DataType):
        return given
    try:
        return parse_type(given)
    except SharkError as error:
        raise BindError(f'function "{name}": {error.message}', hint=error.hint) from None


def _hints(target: Callable[..., Any], called: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(called)
    except Exception:  # noqa: BLE001 - annotations are the user's code
        return dict(getattr(target, "__annotations__", {}))


def _annotated(name: str, parameter: str, hints: Mapping[str, Any]) -> DataType:
    what = "its result" if parameter == "return" else f'its argument "{parameter}"'
    if parameter not in hints:
        raise BindError(
            f'function "{name}" does not say the type of {what}',
            hint='give types: @sharkpy.function("bigint", returns="double"), or annotate',
        )
    found = annotated_type(hints[parameter])
    if found is None:
        raise BindError(f'function "{name}": {hints[parameter]!r} is not a type that {what} can have')
    return found


def annotated_type(hint: Any) -> DataType | None:
    """Return the type of an annotation such as `int` or `list[str]`, or None if it has none."""
    if isinstance(hint, DataType):
        return hint
    if found := _ANNOTATIONS.get(hint) or _NUMPY.get(getattr(hint, "__name__", "")):
        return found
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        known = [arg for arg in args if arg is not type(None)]
        return annotated_type(known[0]) if len(known) == 1 else None
    inner = [annotated_type(arg) for arg in args]
    if origin in (list, Sequence) and len(inner) == 1 and inner[0] is not None:
        return ArrayType(inner[0])
    if origin in (dict, Mapping) and len(inner) == 2 and inner[0] is not None and inner[1] is not None:
        return MapType(inner[0], inner[1])
    return None


def _yielded(name: str, hints: Mapping[str, Any]) -> DataType:
    hint = hints.get("return")
    args = typing.get_args(hint)
    if typing.get_origin(hint) in (Iterator, Iterable, Generator) and args:
        items = typing.get_args(args[0]) if typing.get_origin(args[0]) is tuple else (args[0],)
        found = [annotated_type(item) for item in items]
        if None not in found:
            names = ("col",) if len(found) == 1 else tuple(f"col{index}" for index in range(len(found)))
            return StructType(names, tuple(dtype for dtype in found if dtype is not None))
    raise BindError(
        f'function "{name}" does not say its columns', hint='give them: returns={"word": "string", "n": "int"}'
    )
