"""Recipes with which local tasks rebuild a table's blocks, in a file of the engine's folder."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import ExecutionError
from sharkpy.catalog.model import Table
from sharkpy.columnar import block_folders
from sharkpy.columnar.block_writer import BlockWriter
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tasks.block_rebuild import Siblings, siblings
from sharkpy.values.types import Schema

_SUFFIX = ".recipes"


@dataclass(frozen=True, slots=True)
class TableRecipes:
    """Recipes of a table whose groups of blocks are each made from file splits only."""

    table: Table
    schema: Schema
    groups: tuple[Siblings, ...]
    writer: BlockWriter

    def group_of(self, block_id: str) -> Siblings | None:
        return next((one for one in self.groups if any(block.block_id == block_id for block in one[1])), None)


class RecipeBook:
    """Recipes of tables' newest versions. Thread-safe.

    They are written only before the next job, as versions may change often.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """Make a book with files in `folder`, which is called when there is something to write."""
        self._folder = folder
        self._noted: dict[str, tuple[Table, TableVersion | None, BlockWriter]] = {}
        self._lock = threading.Lock()

    def note(self, table: Table, version: TableVersion | None, writer: BlockWriter) -> None:
        """Note a table's newest version and the writer of its blocks; None if there is none any more."""
        with self._lock:
            self._noted[table.table_id] = table, version, writer

    def save(self) -> Path:
        """Write the noted recipes and return the folder. The driver rebuilds blocks whose recipes cannot be written."""
        folder = self._folder()
        with self._lock:
            while self._noted:
                _, (table, version, writer) = self._noted.popitem()
                with contextlib.suppress(ExecutionError, OSError):
                    if version is None:
                        remove_recipes(folder, table)
                    else:
                        save_recipes(folder, table, version, writer)
        return folder


def save_recipes(folder: Path, table: Table, version: TableVersion, writer: BlockWriter) -> None:
    """Write the recipes of a table's version over the earlier version's."""
    groups = tuple(group for group in siblings(version) if group[0])
    if not groups:
        remove_recipes(folder, table)
        return
    folder.mkdir(parents=True, exist_ok=True)
    content = pickle.dumps(TableRecipes(table, version.schema, groups, writer), pickle.HIGHEST_PROTOCOL)
    block_folders.write_file(str(_path(folder, table)), memoryview(content))


def remove_recipes(folder: Path, table: Table) -> None:
    block_folders.remove(str(_path(folder, table)))


def find_recipes(folder: Path, block_id: str) -> TableRecipes | None:
    """Return the recipes of the table that has the block now, or None."""
    from pyspark.serializers import CPickleSerializer

    for path in folder.glob(f"*{_SUFFIX}"):
        content = path.read_bytes()
        if block_id.encode() in content:
            recipes = CPickleSerializer().loads(content)  # type: ignore[no-untyped-call]
            return recipes if isinstance(recipes, TableRecipes) else None
    return None


def _path(folder: Path, table: Table) -> Path:
    return folder / f"{table.table_id}{_SUFFIX}"
