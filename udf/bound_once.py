"""SQL of a call whose long or doubled arguments are computed once, and referred to where its text repeats them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sharkpy.udf.literals import string_value

_LONG_CALL = 64
_LONG_ARGUMENT = 1_000
# DuckDB copies the operand of each of these when it binds them: ten within one another are a thousand copies.
_DOUBLING = re.compile(r"\bBETWEEN\b|\bIN \(|\bnullif\(|\bCASE (?!WHEN\b)", re.IGNORECASE)
_MOST_DOUBLED = 2


def bound_once(args: Sequence[str], call: Callable[[Sequence[str]], str]) -> str:
    """`call(args)`, over the fields of a struct of the arguments that calls within calls would double at each level."""
    sql = call(args)
    if len(sql) < _LONG_CALL:
        return sql
    doubled = [len(_DOUBLING.findall(arg)) for arg in args]
    doubles = len(_DOUBLING.findall(sql)) > sum(doubled)
    is_repeated = any(len(arg) >= _LONG_ARGUMENT and sql.count(arg) > 1 for arg in args)
    if not is_repeated and not (doubles and max(doubled, default=0) > _MOST_DOUBLED):
        return sql
    fields = {
        place: arg
        for place, (arg, count) in enumerate(zip(args, doubled, strict=True))
        if (len(arg) >= _LONG_ARGUMENT or count > _MOST_DOUBLED) and _is_value(arg)
    }
    if not fields:
        return sql
    # The name is no name within an argument: those are shorter than all of them.
    name = f"args{sum(map(len, args))}"
    struct = ", ".join(f"a{place} := {arg}" for place, arg in fields.items())
    given = [f"{name}.a{place}" if place in fields else arg for place, arg in enumerate(args)]
    return f"list_transform([struct_pack({struct})], lambda {name}: {call(given)})[1]"


def _is_value(arg: str) -> bool:
    """Whether an argument may change its place: no constant, which some calls read, and no function."""
    return string_value(arg) is None and not arg.startswith("lambda ")
