"""SQL of a call whose long or doubled arguments are computed once, and referred to where its text repeats them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sharkpy.udf.literals import string_value
from sharkpy.udf.macros import MACROS

_SHORT_CALL = 64
_SHORT_ARGUMENT = 40
"""Characters that hold no three calls within one another: most arguments are not looked through."""
_LONG_ARGUMENT = 1_000
_MOST_DOUBLED = 2


def _repeats(head: str, body: str) -> bool:
    """Whether a macro's body has a parameter more than once."""
    parameters = re.findall(r"\w+", head)[1:]
    return any(len(re.findall(rf"\b{name}\b", body)) > 1 for name in parameters)


# DuckDB copies the operand of each of these when it binds them: ten within one another are a thousand copies.
_CALLS = "|".join(["nullif", *(head.partition("(")[0] for head, body in MACROS.items() if _repeats(head, body))])
_DOUBLING_CALL = re.compile(rf"\b(?:{_CALLS})\(", re.IGNORECASE)
_DOUBLING = re.compile(rf"\bBETWEEN\b|\bIN \(|\bCASE (?!WHEN\b)|{_DOUBLING_CALL.pattern}", re.IGNORECASE)
_OPERAND = r"\bCASE \(*{0}\b|\b{0}\)* (?:BETWEEN\b|IN \()"


def bound_once(args: Sequence[str], call: Callable[[Sequence[str]], str]) -> str:
    """`call(args)`, over the fields of a struct of the arguments that calls within calls would double at each level."""
    sql = call(args)
    if len(sql) < _SHORT_CALL:
        return sql
    deep = [place for place, arg in enumerate(args) if _is_deep(arg)]
    if not deep:
        return sql
    # The name is no name within an argument: those are shorter than all of them.
    name = f"args{sum(map(len, args))}"
    given = [f"{name}.a{place}" if place in deep else arg for place, arg in enumerate(args)]
    over_fields = call(given)
    if not any(_is_doubled(over_fields, given[place]) for place in deep):
        return sql
    struct = ", ".join(f"a{place} := {args[place]}" for place in deep)
    return f"list_transform([struct_pack({struct})], lambda {name}: {over_fields})[1]"


def _is_deep(arg: str) -> bool:
    """Whether copies of an argument cost much; constants, which some calls read, and functions are not moved."""
    if len(arg) < _SHORT_ARGUMENT:
        return False
    is_large = len(arg) >= _LONG_ARGUMENT or len(_DOUBLING.findall(arg)) > _MOST_DOUBLED
    return is_large and string_value(arg) is None and not arg.startswith("lambda ")


def _is_doubled(sql: str, field: str) -> bool:
    """Whether `sql` has a field several times, or where DuckDB copies it."""
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
