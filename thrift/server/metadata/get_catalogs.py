"""GetCatalogs: databases have no catalogs above them."""

from __future__ import annotations

from typing import Any

from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import STRING

SCHEMA = schema(columns(STRING, "TABLE_CAT"))


def rows(request: Any, session: Any) -> list[tuple[str]]:  # noqa: ARG001
    return []
