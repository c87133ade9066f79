"""GetPrimaryKeys: there are none, constraints are refused."""

from __future__ import annotations

from typing import Any

from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.types import INT, STRING

SCHEMA = schema(
    columns(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"),
    columns(INT, "KEY_SEQ"),
    columns(STRING, "PK_NAME"),
)


def rows(request: Any, session: Any) -> list[tuple[str | int]]:  # noqa: ARG001
    return []
