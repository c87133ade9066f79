"""Hive's order of arrays and structs, in which a NULL within is the least value. In DuckDB it is the greatest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sharkpy.values.types import ArrayType, DataType, StructType, is_nested


def order_key(sql: str, dtype: DataType) -> str:
    """Return SQL of a value whose order in DuckDB is Hive's order of `sql`, and that is NULL if `sql` is NULL.

    For plain types it is `sql` itself. For nested types, each field and element has a flag before it: whether it is not
    NULL.
    """
    return _key(sql, dtype, 0)


def order_term(sql: str, dtype: DataType, *, ascending: bool, nulls_first: bool) -> str:
    """Return a term of ORDER BY."""
    return f"{order_key(sql, dtype)} {'ASC' if ascending else 'DESC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def sorted_list(sql: str, element: DataType, *, ascending: bool, nulls_first: bool) -> str:
    """Return SQL of the sorted list. Nested elements are sorted as pairs of key and element."""
    order = f"'{'ASC' if ascending else 'DESC'}', 'NULLS {'FIRST' if nulls_first else 'LAST'}'"
    if not is_nested(element):
        return f"list_sort({sql}, {order})"
    pairs = f"list_transform({sql}, lambda item: {key_and_value('item', element)})"
    return f"list_transform(list_sort({pairs}, {order}), lambda item: {value_of_pair('item')})"


def list_extreme(function: str, sql: str, element: DataType) -> str:
    """Return SQL of the minimum or maximum of a list (`function` is min or max). NULLs are ignored."""
    if not is_nested(element):
        return f"list_{function}({sql})"
    return value_of_pair(f"list_{function}(list_transform({sql}, lambda item: {key_and_value('item', element)}))")


def extreme(function: str, values: Sequence[str], dtype: DataType) -> str:
    """Return SQL of least or greatest (`function`) of values that are not NULL."""
    if not is_nested(dtype):
        return f"{function}({', '.join(values)})"
    return value_of_pair(f"{function}({', '.join(key_and_value(value, dtype) for value in values)})")


def flagged_keys(values: Iterable[tuple[str, DataType]]) -> str:
    """Return the fields of a key over several values, in which NULL is the least."""
    return ", ".join(_flagged(sql, dtype, 0) for sql, dtype in values)


def key_and_value(sql: str, dtype: DataType) -> str:
    """Return SQL of the key and the value, or NULL if the value is NULL."""
    return f"CASE WHEN {sql} IS NOT NULL THEN row({order_key(sql, dtype)}, {sql}) END"


def value_of_pair(extreme_pair: str) -> str:
    """Return SQL of the value of a pair."""
    return f"struct_extract_at({extreme_pair}, 2)"


def _key(sql: str, dtype: DataType, depth: int) -> str:
    match dtype:
        case ArrayType(element):
            item = f"item{depth}"
            return f"list_transform({sql}, lambda {item}: row({_flagged(item, element, depth + 1)}))"
        case StructType():
            return f"CASE WHEN {sql} IS NOT NULL THEN row({_fields(sql, dtype, depth)}) END"
    return sql


def _fields(sql: str, struct: StructType, depth: int) -> str:
    fields = (_flagged(f"struct_extract_at({sql}, {at})", dtype, depth) for at, dtype in enumerate(struct.types, 1))
    return ", ".join(fields)


def _flagged(sql: str, dtype: DataType, depth: int) -> str:
    """Return the flag and the key of a value. Fields of a NULL struct are NULL, and equal."""
    key = _fields(sql, dtype, depth) if isinstance(dtype, StructType) else _key(sql, dtype, depth)
    return f"{sql} IS NOT NULL, {key}"
