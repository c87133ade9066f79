"""Recipes from which a task on this machine makes a table's blocks again, in a file of the engine's folder."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import ExecutionError
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


class RecipeBook:
    """Recipes of tables' newest versions, written before the next job: some tables have many versions from one job to
    another. Safe to use from several threads.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        """Make a book whose files are in `folder`, which is asked for when there is something to write."""
        self._folder = folder
        self._noted: dict[str, tuple[Table, TableVersion | None, BlockWriter]] = {}
        self._lock = threading.Lock()

    def note(self, table: Table, version: TableVersion | None, writer: BlockWriter) -> None:
        """Note a table's newest version, which `writer` writes blocks of; None: it has none any more."""
        with self._lock:
            self._noted[table.table_id] = table, version, writer

    def save(self) -> Path:
        """Write what has been noted; returns the folder. What cannot be written is left out: the driver makes such
        blocks.
        """
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
