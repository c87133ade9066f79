"""GetTypeInfo: the types that a column can have, in the form of java.sql.DatabaseMetaData.getTypeInfo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.thrift.metadata.type_codes import PARAMETRIC, SIMPLE
from sharkpy.values.types import BOOLEAN, INT, SMALLINT, STRING

SCHEMA = schema(
    columns(STRING, "TYPE_NAME"),
    columns(INT, "DATA_TYPE", "PRECISION"),
    columns(STRING, "LITERAL_PREFIX", "LITERAL_SUFFIX", "CREATE_PARAMS"),
    columns(SMALLINT, "NULLABLE"),
    columns(BOOLEAN, "CASE_SENSITIVE"),
    columns(SMALLINT, "SEARCHABLE"),
    columns(BOOLEAN, "UNSIGNED_ATTRIBUTE", "FIXED_PREC_SCALE", "AUTO_INCREMENT"),
    columns(STRING, "LOCAL_TYPE_NAME"),
    columns(SMALLINT, "MINIMUM_SCALE", "MAXIMUM_SCALE"),
    columns(INT, "SQL_DATA_TYPE", "SQL_DATETIME_SUB", "NUM_PREC_RADIX"),
)
_NULLABLE = 1
_NOT_SEARCHABLE, _SEARCHABLE_BUT_LIKE, _SEARCHABLE = 0, 2, 3


def rows(request: Any, session: Any) -> Iterator[tuple[str | int | bool | None, ...]]:  # noqa: ARG001
    for code in (*SIMPLE.values(), *PARAMETRIC):
        searchable = _SEARCHABLE if code.is_text else _SEARCHABLE_BUT_LIKE if code.is_comparable else _NOT_SEARCHABLE
        yield (
            code.name,
            code.sql_type,
            code.precision,
            code.quote,
            code.quote,
            code.parameters,
            _NULLABLE,
            code.is_text,
            searchable,
            code.radix is None,
            False,
            False,
            code.name,
            0,
            code.scale or 0,
            None,
            None,
            code.radix,
        )
