"""Functions that take functions, such as `transform(array, x -> x + 1)`, with Spark's NULL rules.

An argument that is a function is lowered to `lambda v1, v2: body`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.records import dataclass
from sharkpy.udf.function import Lowering, NullPolicy, ResultRule, ScalarFunction
from sharkpy.udf.map_functions import map_of_entries
from sharkpy.udf.ordering import sorted_list
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, anything, element_type, same_as
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BOOLEAN, INT, ArrayType, DataType, MapType

VariableRule = Callable[[Types, Sequence[int]], Sequence[Sequence[DataType]] | None]
"""(types of the non-function arguments, number of variables of each function) -> types of the variables of each
function, or None if the function does not accept the arguments. A variable of type INDEX is a position from 0.
"""


@dataclass(frozen=True, slots=True)
class _Index(DataType):
    """INT, for the variable that counts items."""


INDEX = _Index()


@dataclass(frozen=True, slots=True)
class HigherOrderFunction(ScalarFunction):
    """A function with function arguments. `bodies` is the type to which their results are cast, or None for no cast.

    `folds`: the first variable of the first function is its previous result, initially the second argument.
    """

    variables: VariableRule = lambda _types, _counts: None
    bodies: DataType | None = None
    folds: bool = False


# Variables of the functions


def _items(most: int) -> VariableRule:
    """(array, x -> …), optionally with a second variable for the position."""

    def rule(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
        match types, counts:
            case [ArrayType(element)], [count] if 1 <= count <= most:
                return [(element, INDEX)[:count]]
        return None

    return rule


def _entries(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
    match types, counts:
        case [MapType(key, value)], [2]:
            return [(key, value)]
    return None


def _fold(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
    match types, counts:
        case [ArrayType(element), zero], [2]:
            return [(zero, element)]
        case [ArrayType(element), zero], [2, 1]:
            return [(zero, element), (zero,)]
    return None


def _two_arrays(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
    match types, counts:
        case [ArrayType(one), ArrayType(other)], [2]:
            return [(one, other)]
    return None


def _two_maps(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
    match types, counts:
        case [MapType(key, one), MapType(other_key, other)], [3] if common_type(key, other_key) == key:
            return [(key, one, other)]
    return None


def _comparator(types: Types, counts: Sequence[int]) -> Sequence[Sequence[DataType]] | None:
    match types, counts:
        case [ArrayType(element)], [2]:
            return [(element, element)]
        case [ArrayType()], []:
            return []
    return None


# Lowerings


def _parts(function: str) -> tuple[list[str], str]:
    """Return the variables and the body of a lowered function."""
    head, body = function.removeprefix("lambda ").split(": ", 1)
    return head.split(", "), body


def _let(function: str, *values: str) -> str:
    """Return the body of a lowered function with its variables bound to `values`."""
    names, result = _parts(function)
    for name, value in reversed(list(zip(names, values, strict=True))):
        result = f"list_transform([{value}], lambda {name}: {result})[1]"
    return result


def _exists(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return _three_valued(args, "list_bool_or", "true", "false")


def _forall(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return _three_valued(args, "NOT list_bool_and", "false", "true")


def _three_valued(args: Sequence[str], test: str, found: str, otherwise: str) -> str:
    """Return `found` if `test` of the values is true, else NULL if a value is NULL, else `otherwise`."""
    nulls = "len(list_filter(answers, lambda answer: answer IS NULL))"
    choice = (
        f"CASE WHEN answers IS NULL THEN NULL WHEN coalesce({test}(answers), false) THEN {found} "
        f"WHEN {nulls} > 0 THEN NULL ELSE {otherwise} END"
    )
    return f"list_transform([list_transform({args[0]}, {args[1]})], lambda answers: {choice})[1]"


def _reduce(args: Sequence[str], _types: Types, _result: DataType) -> str:
    folded = f"list_reduce({args[0]}, {args[2]}, {args[1]})"
    finished = folded if len(args) == 3 else _let(args[3], folded)
    return f"CASE WHEN {args[0]} IS NOT NULL THEN {finished} END"


def _zip_with(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pairs = f"list_transform(list_zip({args[0]}, {args[1]}), lambda pair: {_let(args[2], 'pair[1]', 'pair[2]')})"
    return f"CASE WHEN {args[0]} IS NOT NULL AND {args[1]} IS NOT NULL THEN {pairs} END"


def _map_filter(args: Sequence[str], _types: Types, _result: DataType) -> str:
    test = _let(args[1], "entry.key", "entry.value")
    return _from_entries(args[0], f"map_from_entries(list_filter(map_entries({args[0]}), lambda entry: {test}))")


def _transform_values(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pair = f"struct_pack(k := entry.key, v := {_let(args[1], 'entry.key', 'entry.value')})"
    return _from_entries(args[0], f"map_from_entries(list_transform(map_entries({args[0]}), lambda entry: {pair}))")


def _transform_keys(args: Sequence[str], _types: Types, _result: DataType) -> str:
    pair = f"struct_pack(k := {_let(args[1], 'entry.key', 'entry.value')}, v := entry.value)"
    entries = f"list_transform(map_entries({args[0]}), lambda entry: {pair})"
    return _from_entries(args[0], f"list_transform([{entries}], lambda entries: {map_of_entries('entries')})[1]")


def _map_zip_with(args: Sequence[str], _types: Types, _result: DataType) -> str:
    others = f"list_filter(map_keys({args[1]}), lambda other: NOT list_contains(map_keys({args[0]}), other))"
    keys = f"list_concat(map_keys({args[0]}), {others})"
    value = _let(args[2], "entry_key", f"{args[0]}[entry_key]", f"{args[1]}[entry_key]")
    pairs = f"list_transform({keys}, lambda entry_key: struct_pack(k := entry_key, v := {value}))"
    return f"CASE WHEN {args[0]} IS NOT NULL AND {args[1]} IS NOT NULL THEN map_from_entries({pairs}) END"


def _from_entries(source: str, made: str) -> str:
    return f"CASE WHEN {source} IS NOT NULL THEN {made} END"


def _array_sort(args: Sequence[str], types: Types, _result: DataType) -> str:
    """Sort by insertion if there is a comparator: a new item is inserted after the items that are not greater."""
    if len(args) == 1:
        return sorted_list(args[0], element_type(types[0]), ascending=True, nulls_first=False)
    (left, right), body = _parts(args[1])
    before = f"list_filter(sorted_items, lambda {left}: coalesce({body}, 1) <= 0)"
    after = f"list_filter(sorted_items, lambda {left}: coalesce({body}, 1) > 0)"
    inserted = f"list_concat(list_concat({before}, [{right}]), {after})"
    step = f"list_transform([one[1]], lambda {right}: {inserted})[1]"
    singles = f"list_transform({args[0]}, lambda item: [item])"
    ordered = f"list_reduce({singles}, lambda sorted_items, one: {step})"
    return f"CASE WHEN len({args[0]}) > 1 THEN {ordered} ELSE {args[0]} END"


def _array_of_body(types: Types) -> DataType:
    return ArrayType(types[-1])


def _map_with_values(types: Types) -> DataType:
    match types[0]:
        case MapType(key):
            return MapType(key, types[-1])
    return types[0]


def _map_with_keys(types: Types) -> DataType:
    match types[0]:
        case MapType(_, value):
            return MapType(types[-1], value)
    return types[0]


def _last(types: Types) -> DataType:
    return types[-1]


@dataclass(frozen=True, slots=True)
class _Page(Page):
    """Page of a function of functions."""

    def function(
        self,
        variables: VariableRule,
        result: ResultRule,
        lowering: Lowering,
        *,
        bodies: DataType | None = None,
        folds: bool = False,
        aliases: tuple[str, ...] = (),
    ) -> HigherOrderFunction:
        return HigherOrderFunction(
            self.function_name,
            anything(1),
            result,
            lowering,
            NullPolicy.CUSTOM,
            variables=variables,
            bodies=bodies,
            folds=folds,
            usage=self.usage,
            doc=self.doc,
            example=self.example_call,
            answer=self.example_answer,
            aliases=aliases,
        )


HIGHER_ORDER_FUNCTIONS = (
    _Page(
        "transform(array, x -> …)",
        "the items of an array, each changed by a function of it and, if wanted, its place",
        "transform(array(1, 2), (x, i) -> x * 10 + i) -> [10,21]",
    ).function(_items(2), _array_of_body, "list_transform({0}, {1})"),
    _Page(
        "filter(array, x -> …)",
        "the items of an array for which a function of them is true",
        "filter(array(1, 2, 3), x -> x > 1) -> [2,3]",
    ).function(_items(2), same_as(0), "list_filter({0}, {1})", bodies=BOOLEAN),
    _Page(
        "exists(array, x -> …)",
        "whether a function is true of an item of an array; NULL if only NULLs decide",
        "exists(array(1, 2, 3), x -> x > 2) -> true",
    ).function(_items(1), lambda _types: BOOLEAN, _exists, bodies=BOOLEAN),
    _Page(
        "forall(array, x -> …)",
        "whether a function is true of all items of an array; NULL if only NULLs decide",
        "forall(array(1, 2, 3), x -> x > 0) -> true",
    ).function(_items(1), lambda _types: BOOLEAN, _forall, bodies=BOOLEAN),
    _Page(
        "aggregate(array, start, (total, x) -> …[, total -> …])",
        "what a function makes, item by item, of a start value; changed by a second function at the end",
        "aggregate(array(1, 2, 3), 0, (total, x) -> total + x) -> 6",
    ).function(_fold, _last, _reduce, aliases=("reduce",), folds=True),
    _Page(
        "zip_with(a, b, (x, y) -> …)",
        "what a function makes of the items of two arrays; NULLs follow the shorter one",
        "zip_with(array(1, 2), array(3, 4), (x, y) -> x + y) -> [4,6]",
    ).function(_two_arrays, _array_of_body, _zip_with),
    _Page(
        "map_filter(map, (k, v) -> …)",
        "the entries of a map for which a function of key and value is true",
        "map_filter(map('a', 1, 'b', 2), (k, v) -> v > 1) -> {\"b\":2}",
    ).function(_entries, same_as(0), _map_filter, bodies=BOOLEAN),
    _Page(
        "transform_values(map, (k, v) -> …)",
        "a map with values changed by a function of key and value",
        "transform_values(map('a', 1), (k, v) -> v + 1) -> {\"a\":2}",
    ).function(_entries, _map_with_values, _transform_values),
    _Page(
        "transform_keys(map, (k, v) -> …)",
        "a map with keys changed by a function of key and value; of equal new keys the last counts",
        "transform_keys(map('a', 1), (k, v) -> upper(k)) -> {\"A\":1}",
    ).function(_entries, _map_with_keys, _transform_keys),
    _Page(
        "map_zip_with(a, b, (k, x, y) -> …)",
        "a map of the results of a function of each key and its values in two maps; a missing value is NULL",
        "map_zip_with(map('a', 1), map('a', 2), (k, x, y) -> x + y) -> {\"a\":3}",
    ).function(_two_maps, _map_with_values, _map_zip_with),
    _Page(
        "array_sort(array[, (x, y) -> …])",
        "an array in ascending order, NULLs last, or in the order of a function that is -1, 0 or 1 of two items",
        "array_sort(array(3, 1, 2), (x, y) -> y - x) -> [3,2,1]",
    ).function(_comparator, same_as(0), _array_sort, bodies=INT),
)
