"""What tests of lake tables share: sessions, rows, and Iceberg's own tables beside."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import sharkpy


def rows(context: sharkpy.SharkContext, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in context.sql(sql).fetchall()]


def run(context: sharkpy.SharkContext, *statements: str) -> None:
    for one in statements:
        context.sql(one)


def own_catalog(context: sharkpy.SharkContext) -> Any:
    """The warehouse's catalog of Iceberg, as another program opens it."""
    from pyiceberg.catalog import load_catalog

    place = Path(context.catalog.state_dir, "iceberg.sqlite")
    return load_catalog(
        "default", type="sql", uri=f"sqlite:///{place}", warehouse=f"file://{context.catalog.warehouse_dir}"
    )


def as_tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def places(found: Iterable[Path]) -> list[str]:
    return sorted(one.name for one in found)
