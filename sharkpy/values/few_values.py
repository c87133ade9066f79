"""Arrow columns of a few Python values, made without pandas.

`pa.array` and `pa.scalar` import pandas when they first convert a Python value. That takes longer than most statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa


def strings(values: Iterable[str | None]) -> Any:
    """Return a STRING column."""
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()


def few_values(values: Sequence[Any], dtype: Any) -> Any:
    """Return a column of a primitive type. Raise ValueError if a value does not fit it."""
    if dtype == pa.binary():
        return pa.array(values, dtype)
    if values.count(None) == len(values):
        return pa.nulls(len(values), dtype)
    if dtype == pa.string():
        return strings(values)
    return strings([None if value is None else str(value) for value in values]).cast(dtype)
