"""Typed values of Hive partitions, from their names."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pyarrow as pa

from sharkpy.catalog.hive_partition import partition_values
from sharkpy.sources.arrow import Array, column_type
from sharkpy.sources.lenient import fitted_texts, lenient
from sharkpy.values.types import CharType, DataType, Schema, is_string


def value_array(texts: Sequence[str | None], dtype: DataType) -> Array:
    """Values of texts in folder names, as in Hive: NULL if a text is not a value of the type."""
    text = pa.array(texts, pa.string())
    if isinstance(dtype, CharType):
        return fitted_texts(text, dtype)
    if is_string(dtype):
        return text
    return lenient(text, dtype).cast(column_type(dtype))


@functools.lru_cache(maxsize=10_000)
def single_value(text: str | None, dtype: DataType) -> Array:
    """`value_array` of one text. Cached, since thousands of Hive partitions share few values of a column."""
    return value_array([text], dtype)


def typed_values(names: Sequence[str], schema: Schema) -> list[tuple[object, ...]]:
    """Values of the partition columns `schema` for the name of each Hive partition."""
    texts = [partition_values(name) for name in names]
    columns = [value_array([text.get(f.name) for text in texts], f.dtype).to_pylist() for f in schema]
    return list(zip(*columns, strict=True))
