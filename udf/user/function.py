"""User functions for the engine, in any language, and the table of known functions.

A user function has a key, `name@digest`, made from its content. Bound expressions use the key in place of a function
name, the registry finds the row by the key, and stages ship the function to their tasks.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from sharkpy.base.records import dataclass
from sharkpy.udf.duckdb_sql import integer_value, string_value
from sharkpy.udf.function import AggregateFunction, RelationFunction, ScalarFunction, TableFunction
from sharkpy.values.types import DataType

MARK = "@"
"""Separator of name and digest in a key. Names of functions do not contain it."""
FunctionRow = ScalarFunction | AggregateFunction | TableFunction | RelationFunction
Types = Sequence[DataType]
Column: TypeAlias = Any
"""A pyarrow.Array, whose stubs do not describe the contents of nested arrays."""
Constants = tuple[str | int | Decimal | None, ...]
"""Values of literal arguments if they are strings or numbers, else None."""
_NUMBER = re.compile(r"CAST\('?(-?[0-9.]+(?:e[+-]?[0-9]+)?)'? AS (?:DECIMAL\([0-9,]+\)|DOUBLE|FLOAT)\)")


@dataclass(frozen=True, slots=True)
class Routine:
    """A DuckDB function over Arrow columns. `run` gets the columns and the number of rows.

    DuckDB calls it from any of its threads, with a few thousand rows at a time.
    """

    name: str
    parameters: tuple[DataType, ...]
    result: DataType
    run: Callable[[Sequence[Column], int], Column]
    is_deterministic: bool = True


class UserFunction(Protocol):
    """A user function. Immutable and picklable, since stages ship it.

    1. `row` is the registry's row for `key`. Its lowering calls routines by name.
    2. `routines` returns all routines that a use needs.
    3. `facts` are lines for DESCRIBE FUNCTION EXTENDED.
    """

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str: ...

    @property
    def row(self) -> FunctionRow: ...

    def routines(self, use: FunctionUse) -> Sequence[Routine]: ...

    def facts(self) -> Sequence[str]: ...


class Shipped:
    """Base of user functions that are dataclasses: pickled by their fields, without cached properties."""

    def __reduce__(self) -> tuple[object, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)


@dataclass(frozen=True, slots=True)
class FunctionUse:
    """A use of a function in a stage. `constants[i]` is the value of argument i if it is a literal."""

    function: UserFunction
    types: tuple[DataType, ...]
    result: DataType
    constants: Constants = ()


_functions_by_key: dict[str, UserFunction] = {}


def intern(function: UserFunction) -> UserFunction:
    """Return the known function with the same content, or `function` if it is the first. It lasts as long as the
    process.
    """
    return _functions_by_key.setdefault(function.key, function)


def find(key: str) -> UserFunction | None:
    """Return the function for a key in a bound expression."""
    return _functions_by_key.get(key) if MARK in key else None


def shown_name(key: str) -> str:
    """Return the name by which users call the function."""
    return key.rpartition(MARK)[0] or key


def shown_call(key: str, arguments: str) -> str:
    """Return a call as users write it. The argument in a name such as `predict('m')` comes first."""
    name = shown_name(key)
    return f"{name.removesuffix(')')}, {arguments})" if name.endswith(")") else f"{name}({arguments})"


def make_key(name: str, *parts: object) -> str:
    return f"{name}{MARK}{_digest(*parts)}"


def routine_name(key: str, part: str, types: Types = (), constants: Constants = ()) -> str:
    """Return the DuckDB name of a part of a function, for these arguments if it depends on them."""
    known = (repr(value) for value in constants if value is not None)
    return f"user_{part}_{_digest(key, *map(str, types), *known)}"


def constant_values(args: Sequence[str]) -> Constants:
    """Return the values of the arguments, given as SQL, that are literals."""
    return tuple(map(_constant_value, args))


def _constant_value(arg: str) -> str | int | Decimal | None:
    for value in (string_value(arg), integer_value(arg)):
        if value is not None:
            return value
    match = _NUMBER.fullmatch(arg)
    return Decimal(match.group(1)) if match else None


def _digest(*parts: object) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
