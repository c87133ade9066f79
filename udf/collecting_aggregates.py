"""Aggregates that return one row's value or the values of all rows: first, max_by, collect_list, listagg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.function import AggregateFunction, Answer, Lowering, Varying
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.ordering import key_and_value, order_key, value_of_pair
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, anything, same_as, takes
from sharkpy.values.types import (
    BOOLEAN,
    STRING,
    ArrayType,
    DataType,
    is_nested,
)


def least_or_greatest(name: str, sql: str, dtype: DataType) -> str:
    """Return SQL of min or max. Nested values are compared by keys. Expressions other than columns are computed once,
    since they may be random.
    """
    if not is_nested(dtype):
        return f"{name}({sql}){OVER}"
    if sql.replace('"', "").isidentifier():
        return f"arg_{name}({sql}, {order_key(sql, dtype)}){OVER}"
    return value_of_pair(f"{name}(list_transform([{sql}], lambda item: {key_and_value('item', dtype)})[1]){OVER}")


def _position(name: str, function: str, *, doc: str, answer: Answer) -> AggregateFunction:
    """First or last row of an unordered group: any row's value. With TRUE as the second argument, any non-NULL
    value.
    """

    def lower(args: Sequence[str], _types: Types, _result: DataType) -> str:
        if len(args) == 2 and args[1] == "true":
            return f"any_value({args[0]}){OVER}"
        return f"{function}({args[0]}){OVER}"

    return Page(f"{name}(x)", doc, f"{name}(x)", answer=answer).aggregate(
        lambda types: types if len(types) == 1 or (len(types) == 2 and types[1] == BOOLEAN) else None, same_as(0), lower
    )


def _collect(function: Callable[[str], str]) -> Lowering:
    def lower(args: Sequence[str], _types: Types, result: DataType) -> str:
        return f"coalesce({function(args[0])}, CAST([] AS {duckdb_type(result)}))"

    return lower


def _list_of(sql: str) -> str:
    return f"list_filter(list({DISTINCT}{sql}){OVER}, lambda one: one IS NOT NULL)"


def _set_of(sql: str) -> str:
    return f"list_filter(list(DISTINCT {sql}){OVER}, lambda one: one IS NOT NULL)"


def _element(types: Types) -> DataType:
    return ArrayType(types[0])


def _by(name: str, extreme: str, *, answer: str) -> AggregateFunction:
    def first(args: Sequence[str], types: Types, _result: DataType) -> str:
        return f"arg_{extreme}_null({args[0]}, {order_key(args[1], types[1])}){OVER}"

    def second(args: Sequence[str], types: Types, _result: DataType) -> str:
        return least_or_greatest(extreme, args[1], types[1])

    return Page(
        f"{name}(x, y)", f"the first argument of the row with the {extreme}imal second one", f"{name}(x, y) -> {answer}"
    ).aggregate(
        anything(2, 2),
        same_as(0),
        first,
        partials=(first, second),
        partial_types=lambda types: types,
        merges=(first, second),
        ignores_distinct=True,
    )


def _joined(
    name: str, order: str, *, usage: str, doc: str, answer: str, aliases: tuple[str, ...] = (), is_listed: bool = True
) -> AggregateFunction:
    """Joined texts. `order` follows each key after the delimiter."""

    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        delimiter = args[1] if len(args) > 1 else "''"
        keys = ", ".join(f"{order_key(*key)} {order}" for key in zip(args[2:], types[2:], strict=True))
        return f"string_agg({DISTINCT}{args[0]}, {delimiter}{f' ORDER BY {keys}' if keys else ''}){OVER}"

    def arguments(types: Types) -> Types | None:
        texts = takes(STRING, STRING, optional=1)(types[:2])
        return None if texts is None else (*texts, *types[2:])

    return Page(usage, doc, f"{name}('a', ',') -> {answer}", name=name).aggregate(
        arguments if order else takes(STRING, STRING, optional=1),
        STRING,
        lower,
        constants=((1, lambda _value: None),),
        aliases=aliases,
        is_listed=is_listed,
    )


_ARRAY_STATE: Callable[[Types], Sequence[DataType]] = lambda types: (ArrayType(types[0]),)  # noqa: E731 - a row's field


COLLECTING_AGGREGATES = (
    Page("collect_list(x)", "array of the values", "sort_array(collect_list(x)) -> [1,3]").aggregate(
        anything(1, 1),
        _element,
        _collect(_list_of),
        partials=(_collect(_list_of),),
        partial_types=_ARRAY_STATE,
        merges=("flatten(list({0}))",),
        aliases=("array_agg",),
    ),
    Page("collect_set(x)", "array of the distinct values", "sort_array(collect_set(x)) -> [1,3]").aggregate(
        anything(1, 1),
        _element,
        _collect(_set_of),
        partials=(_collect(_set_of),),
        partial_types=_ARRAY_STATE,
        merges=("list_distinct(flatten(list({0})))",),
        ignores_distinct=True,
    ),
    _position("first", "first", doc="the value of the first row", answer=Varying("1", "1|3")),
    _position("last", "last", doc="the value of the last row", answer=Varying("3", "1|3")),
    replace(
        _position(
            "any_value",
            "any_value",
            doc="some value",
            answer=Varying("1", "1|3"),
        ),
        partials=("any_value({0}){over}",),
        partial_types=lambda types: types[:1],
        merges=("any_value({0})",),
        ignores_distinct=True,
    ),
    _joined(
        "listagg",
        "",
        usage="listagg(x[, delimiter])",
        doc="texts joined, with a delimiter between them; in order by WITHIN GROUP (ORDER BY …)",
        answer="a,a",
        aliases=("string_agg",),
    ),
    _joined(
        "listagg_ascending",
        "ASC NULLS FIRST",
        usage="listagg_ascending(x, delimiter, key, …)",
        doc="listagg in the order of its further arguments",
        answer="a,a",
        is_listed=False,
    ),
    _joined(
        "listagg_descending",
        "DESC NULLS LAST",
        usage="listagg_descending(x, delimiter, key, …)",
        doc="listagg against the order of its further arguments",
        answer="a,a",
        is_listed=False,
    ),
    _by("max_by", "max", answer="3"),
    _by("min_by", "min", answer="1"),
)
