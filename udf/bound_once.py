"""SQL of calls whose arguments are computed once before the call: long arguments that the call repeats, and arguments
that may raise an error or vary in a call that catches errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sharkpy.udf.literals import string_value
from sharkpy.udf.macros import MACROS

_SHORT_CALL = 64
_SHORT_ARGUMENT = 40
"""Length that cannot hold three nested calls: most arguments are too short to be analysed."""
_LONG_ARGUMENT = 1_000
_MOST_DOUBLED = 2


def _repeats(head: str, body: str) -> bool:
    """Return whether a macro's body uses a parameter more than once."""
    parameters = re.findall(r"\w+", head)[1:]
    return any(len(re.findall(rf"\b{name}\b", body)) > 1 for name in parameters)


# DuckDB copies the operand of each of these when it binds them: ten nested ones are a thousand copies.
_CALLS = "|".join(["nullif", *(head.partition("(")[0] for head, body in MACROS.items() if _repeats(head, body))])
_DOUBLING_CALL = re.compile(rf"\b(?:{_CALLS})\(", re.IGNORECASE)
_DOUBLING = re.compile(rf"\bBETWEEN\b|\bIN \(|\bCASE (?!WHEN\b)|{_DOUBLING_CALL.pattern}", re.IGNORECASE)
_RAISING = "|".join(head.partition("(")[0] for head, body in MACROS.items() if "error(" in body)
_VOLATILE = re.compile(rf"\b(?:error|random|setseed|uuid|{_RAISING})\(", re.IGNORECASE)
"""Occurs in SQL that DuckDB does not accept in TRY."""
_OPERAND = r"\bCASE \(*{0}\b|\b{0}\)* (?:BETWEEN\b|IN \()"


def bound_once(args: Sequence[str], call: Callable[[Sequence[str]], str]) -> str:
    """Return `call(args)`, with some arguments computed first as fields of a struct: arguments that nested calls would
    double at each level, and arguments that DuckDB does not accept in TRY.
    """
    sql = call(args)
    if "TRY(" in sql and (volatile := [place for place, arg in enumerate(args) if _VOLATILE.search(arg)]):
        given, whole = _fields(args, volatile)
        if "TRY(" in (over_fields := call(given)):
            return whole(over_fields)
    if len(sql) < _SHORT_CALL:
        return sql
    deep = [place for place, arg in enumerate(args) if _is_deep(arg)]
    if not deep:
        return sql
    given, whole = _fields(args, deep)
    over_fields = call(given)
    if not any(_is_doubled(over_fields, given[place]) for place in deep):
        return sql
    return whole(over_fields)


def _fields(args: Sequence[str], places: Sequence[int]) -> tuple[list[str], Callable[[str], str]]:
    """Replace the arguments at `places` by fields, and return them with a function that completes SQL over these
    fields.
    """
    # The name occurs in no argument, since it is longer than all of them together.
    name = f"args{sum(map(len, args))}"
    given = [f"{name}.a{place}" if place in places else arg for place, arg in enumerate(args)]
    struct = ", ".join(f"a{place} := {args[place]}" for place in places)
    return given, lambda sql: f"list_transform([struct_pack({struct})], lambda {name}: {sql})[1]"


def _is_deep(arg: str) -> bool:
    """Return whether copies of an argument are expensive. Constants, which some calls read, and functions are not
    moved.
    """
    if len(arg) < _SHORT_ARGUMENT:
        return False
    is_large = len(arg) >= _LONG_ARGUMENT or len(_DOUBLING.findall(arg)) > _MOST_DOUBLED
    return is_large and string_value(arg) is None and not arg.startswith("lambda ")


def _is_doubled(sql: str, field: str) -> bool:
    """Return whether `sql` contains a field several times, or at a place where DuckDB copies it."""
    if sql.count(field) > 1 or re.search(_OPERAND.format(re.escape(field)), sql, re.IGNORECASE):
        return True
    return any(field in sql[found.end() : _closing(sql, found.end())] for found in _DOUBLING_CALL.finditer(sql))


def _closing(sql: str, place: int) -> int:
    depth = 1
    for found in re.finditer(r"[()]", sql[place:]):
        depth += 1 if found.group() == "(" else -1
        if not depth:
            return place + found.start()
    return len(sql)
