"""GetTableTypes, and the names of the kinds of tables."""

from __future__ import annotations

from typing import Any

from sharkpy.catalog.model import TableKind
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import STRING

SCHEMA = schema(columns(STRING, "TABLE_TYPE"))

KINDS: dict[str, tuple[TableKind, ...]] = {
    "TABLE": (TableKind.MANAGED, TableKind.EXTERNAL, TableKind.TEMPORARY),
    "VIEW": (TableKind.VIEW, TableKind.TEMPORARY_VIEW),
    "STREAM": (TableKind.STREAM,),
}
"""Types for clients that do not ask for Hive's own types."""

HIVE_KINDS: dict[str, tuple[TableKind, ...]] = {
    "MANAGED_TABLE": (TableKind.MANAGED, TableKind.TEMPORARY),
    "EXTERNAL_TABLE": (TableKind.EXTERNAL,),
    "VIRTUAL_VIEW": (TableKind.VIEW, TableKind.TEMPORARY_VIEW),
    "LOCAL TEMPORARY": (TableKind.TEMPORARY, TableKind.TEMPORARY_VIEW),
}
"""Further types that a client may ask for and then gets in the answer: Hive's own, and JDBC's for temporary tables."""


def type_names(asked: list[str] | None) -> dict[TableKind, str]:
    """Return each requested kind (None and []: all) with the name by which the client asked for it."""
    if not asked:
        return {kind: name for name, kinds in KINDS.items() for kind in kinds}
    known = {**KINDS, **HIVE_KINDS}
    return {kind: name.upper() for name in reversed(asked) for kind in known.get(name.upper(), ())}


def rows(request: Any, session: Any) -> list[tuple[str]]:  # noqa: ARG001
    return [(name,) for name in KINDS]
