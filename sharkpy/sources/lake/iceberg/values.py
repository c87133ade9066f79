"""Values of partition fields: as the engine's texts, and as pyiceberg's values."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
from pyiceberg import types as ice

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.lake.iceberg.types import hive_type
from sharkpy.sources.partition_values import single_value

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)


def partition_text(value: Any, found: Any) -> str | None:
    """Text of a value of Iceberg's type `found`, the same as CAST to STRING."""
    match found:
        case _ if value is None:
            return None
        case ice.DateType() if isinstance(value, int):
            return datetime.date.fromordinal(value + _EPOCH_DAY).isoformat()
        case ice.TimestampType() | ice.TimestamptzType() if isinstance(value, int):
            return str(_EPOCH + datetime.timedelta(microseconds=value))
        case ice.BooleanType():
            return str(value).lower()
        case ice.BinaryType() | ice.FixedType():
            raise UnsupportedError("a table of Iceberg that is divided by a binary column")
    return str(value)


def partition_value(text: str | None, found: Any, column: str) -> Any:
    """Value of Iceberg's type `found` from its text: days and microseconds as numbers. Texts are the same as CAST to
    STRING, except hexadecimal digits for bytes.
    """
    if text is None:
        return None
    if isinstance(found, (ice.BinaryType, ice.FixedType)):
        return bytes.fromhex(text)
    scalar = single_value(text, hive_type(found, column))[0]
    return scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
