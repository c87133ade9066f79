"""Recipes from which a task on this machine makes a table's blocks again, in a file of the engine's folder."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path

from sharkpy.catalog.model import Table
from sharkpy.columnar import store_folder
from sharkpy.columnar.block_writer import BlockWriter
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tasks.block_rebuild import Siblings, siblings
from sharkpy.values.types import Schema

_SUFFIX = ".recipes"


@dataclass(frozen=True, slots=True)
class TableRecipes:
    """Narrow recipes of a table: each group of blocks is made from file splits alone."""

    table: Table
    schema: Schema
    groups: tuple[Siblings, ...]
    writer: BlockWriter

    def group_of(self, block_id: str) -> Siblings | None:
        return next((one for one in self.groups if any(block.block_id == block_id for block in one[1])), None)


def save_recipes(folder: Path, table: Table, version: TableVersion, writer: BlockWriter) -> None:
    """Write the recipes of a table's version in the place of the earlier version's."""
    groups = tuple(group for group in siblings(version) if group[0])
    if not groups:
        remove_recipes(folder, table)
        return
    folder.mkdir(parents=True, exist_ok=True)
    content = pickle.dumps(TableRecipes(table, version.schema, groups, writer), pickle.HIGHEST_PROTOCOL)
    store_folder.write_file(str(_path(folder, table)), memoryview(content))


def remove_recipes(folder: Path, table: Table) -> None:
    store_folder.remove(str(_path(folder, table)))


def find_recipes(folder: Path, block_id: str) -> TableRecipes | None:
    """Find the recipes of the table that has the block now."""
    from pyspark.serializers import CPickleSerializer

    for path in folder.glob(f"*{_SUFFIX}"):
        content = path.read_bytes()
        if block_id.encode() in content:
            recipes = CPickleSerializer().loads(content)  # type: ignore[no-untyped-call]
            return recipes if isinstance(recipes, TableRecipes) else None
    return None


def _path(folder: Path, table: Table) -> Path:
    return folder / f"{table.table_id}{_SUFFIX}"
