"""Generators for LATERAL VIEW: each row produces a list per column."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import BindError, InternalError
from sharkpy.udf.duckdb_sql import quote_string, string_value
from sharkpy.udf.function import ListsRule, TableFunction
from sharkpy.udf.json_functions import lower_get_json_object
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, converts, kind_of, takes
from sharkpy.udf.url_functions import lower_parse_url
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BIGINT, INT, STRING, ArrayType, DataType, MapType, StructType

Columns = Sequence[tuple[str, DataType]]


def _explode_columns(types: Types) -> Columns:
    match types[0]:
        case ArrayType(element):
            return (("col", element),)
        case MapType(key, value):
            return (("key", key), ("value", value))
    raise InternalError(f"explode of {types[0]}")


def _explode(args: Sequence[str], types: Types) -> Sequence[str]:
    return (f"map_keys({args[0]})", f"map_values({args[0]})") if isinstance(types[0], MapType) else args


def _posexplode(args: Sequence[str], types: Types) -> Sequence[str]:
    lists = _explode(args, types)
    return (f"range(len({lists[0]}))", *lists)


def _posexplode_columns(types: Types) -> Columns:
    values = [("val", dtype) if name == "col" else (name, dtype) for name, dtype in _explode_columns(types)]
    return (("pos", INT), *values)


def _inline_arguments(types: Types) -> Types | None:
    match types:
        case [ArrayType(StructType())]:
            return types
    return None


def _inline_columns(types: Types) -> Columns:
    match types[0]:
        case ArrayType(StructType(names, fields)):
            return tuple(zip(names, fields, strict=True))
    raise InternalError(f"inline of {types[0]}")


def _inline(args: Sequence[str], types: Types) -> Sequence[str]:
    fields = (f"struct_extract(row, {quote_string(name)})" for name, _ in _inline_columns(types))
    return [f"list_transform({args[0]}, lambda row: {field})" for field in fields]


def _stack_arguments(types: Types) -> Types | None:
    return types if len(types) >= 2 and converts(types[0], INT) else None


def _stack_columns(_types: Types) -> Columns:
    raise InternalError("the columns of stack need its number of rows: literal_columns")


def _stack_literal_columns(types: Types, values: Sequence[object]) -> Columns:
    if not isinstance(values[0], int) or values[0] < 1:
        raise BindError("stack: its first argument must be a constant number of rows")
    width = -(-(len(types) - 1) // values[0])
    columns = []
    for index in range(width):
        dtype: DataType | None = types[1 + index]
        for other in types[1 + index :: width]:
            dtype = common_type(dtype, other) if dtype is not None else None
        if dtype is None:
            raise BindError(f"stack: the types of column {index} do not go together")
        columns.append((f"col{index}", dtype))
    return tuple(columns)


def _stack(args: Sequence[str], types: Types) -> Sequence[str]:
    from sharkpy.udf.casts import lower_cast
    from sharkpy.udf.duckdb_sql import integer_value

    columns = _stack_literal_columns(types, [integer_value(args[0])])
    lists = []
    for index, (_, dtype) in enumerate(columns):
        places = range(1 + index, len(args), len(columns))
        cells = [lower_cast(args[place], types[place], dtype) for place in places]
        missing = ["NULL"] * (-(-(len(args) - 1) // len(columns)) - len(cells))
        lists.append(f"[{', '.join(cells + missing)}]")
    return lists


def _replicate_rows(args: Sequence[str], _types: Types) -> Sequence[str]:
    return [f"list_transform(generate_series(1, {args[0]}), lambda unused: {arg})" for arg in args]


def _range(args: Sequence[str], _types: Types) -> Sequence[str]:
    """Lower range. A fourth argument, Spark's number of partitions, is ignored."""
    return [f"range({', '.join(args[:3])})"]


def _strings(names: Sequence[str]) -> Columns:
    return tuple((name, STRING) for name in names)


def _numbered(types: Types) -> Columns:
    return _strings([f"c{index}" for index in range(len(types) - 1)])


def _json_tuple(args: Sequence[str], types: Types) -> Sequence[str]:
    lists = []
    for key in args[1:]:
        name = string_value(key)
        path = f"('$.' || {key})" if name is None else quote_string(f"$.{name}")
        lists.append(f"[{lower_get_json_object([args[0], path], types, STRING)}]")
    return lists


def _parse_url_tuple(args: Sequence[str], _types: Types) -> Sequence[str]:
    lists = []
    for part in args[1:]:
        text = string_value(part)
        name, key = f"split_part({part}, ':', 1)", f"split_part({part}, ':', 2)"
        if text is not None:
            name, key = (quote_string(piece) for piece in (*text.split(":", 1), "")[:2])
        lists.append(f"[{lower_parse_url(args[0], name, key)}]")
    return lists


def or_nulls(lists: Sequence[str]) -> Sequence[str]:
    """Return the lists of a generator, or a NULL in each if there is no row."""
    return [f"CASE WHEN len({lists[0]}) > 0 THEN {one} ELSE [NULL] END" for one in lists]


def _outer(row: TableFunction, lists: ListsRule) -> TableFunction:
    """Return the generator with a row of NULLs if it would produce none."""
    return TableFunction(
        f"{row.name}_outer",
        row.arguments,
        row.columns,
        lambda args, types: or_nulls(lists(args, types)),
        usage=row.usage_as(f"{row.name}_outer"),
        doc=f"{row.doc}; a row of NULLs if there is none",
        example=row.example.replace(row.name, f"{row.name}_outer", 1),
        answer=row.answer,
    )


_GENERATORS = (
    Page("explode(array), explode(map)", "a row for each element or entry", "explode(array(1, 2)) -> 1\n2").table(
        kind_of(ArrayType, MapType), _explode_columns, _explode
    ),
    Page(
        "posexplode(array), posexplode(map)",
        "a row for each element, with its position from 0",
        "posexplode(array('a', 'b')) -> 0\ta\n1\tb",
    ).table(kind_of(ArrayType, MapType), _posexplode_columns, _posexplode),
    Page(
        "inline(array of structs)", "a row for each struct of an array", "inline(array(struct(1, 'a'))) -> 1\ta"
    ).table(_inline_arguments, _inline_columns, _inline),
    Page("stack(n, x, …)", "the values, dealt to n rows", "stack(2, 1, 'a', 2, 'b') -> 1\ta\n2\tb").table(
        _stack_arguments, _stack_columns, _stack, literal_columns=_stack_literal_columns
    ),
    Page(
        "range(end), range(start, end[, step[, partitions]])",
        "the integers up to its only argument, or from one to another, both without the end, and by steps",
        "range(1, 10, 3) -> 1\n4\n7",
    ).table(takes(BIGINT, BIGINT, BIGINT, INT, optional=3), lambda _types: (("id", BIGINT),), _range),
    Page(
        "replicate_rows(n, x, …)",
        "the values in as many equal rows as the first argument says",
        "replicate_rows(2, 'a', 1) -> 2\ta\t1\n2\ta\t1",
    ).table(
        lambda types: (BIGINT, *types[1:]) if len(types) >= 2 and converts(types[0], BIGINT) else None,
        lambda types: tuple((f"col{index}", dtype) for index, dtype in enumerate(types)),
        _replicate_rows,
    ),
    Page("json_tuple(json, key, …)", "values of the keys of a JSON object", "json_tuple('{\"a\": 1}', 'a') -> 1").table(
        takes(STRING, STRING, repeat=True), _numbered, _json_tuple
    ),
    Page(
        "parse_url_tuple(url, part, …)",
        "parts of a URL, QUERY:key among them",
        "parse_url_tuple('http://a/b', 'HOST', 'PATH') -> a\t/b",
    ).table(takes(STRING, STRING, repeat=True), _numbered, _parse_url_tuple),
)

TABLE_FUNCTIONS = (
    *_GENERATORS,
    *(_outer(row, row.lists) for row in _GENERATORS if row.lists in (_explode, _posexplode, _inline)),
)
