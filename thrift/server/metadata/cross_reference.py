"""GetCrossReference: no table has foreign keys, constraints are refused."""

from __future__ import annotations

from typing import Any

from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.types import INT, STRING

SCHEMA = schema(
    columns(STRING, "PKTABLE_CAT", "PKTABLE_SCHEM", "PKTABLE_NAME", "PKCOLUMN_NAME"),
    columns(STRING, "FKTABLE_CAT", "FKTABLE_SCHEM", "FKTABLE_NAME", "FKCOLUMN_NAME"),
    columns(INT, "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE"),
    columns(STRING, "FK_NAME", "PK_NAME"),
    columns(INT, "DEFERRABILITY"),
)


def rows(request: Any, session: Any) -> list[tuple[str | int]]:  # noqa: ARG001
    return []
