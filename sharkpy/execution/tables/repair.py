"""Repair of lost and damaged blocks of cached tables, from files or by the queries that made them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import BlocksReplacedError, CorruptionError
from sharkpy.catalog.model import Table
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tables.block_lineage import BlockLineage, Contents, Recipe, pieces_of
from sharkpy.execution.tables.block_repair import rebuild_blocks
from sharkpy.execution.tables.data_files import table_files
from sharkpy.execution.tables.entry import Entry, is_blocks_alone
from sharkpy.execution.tables.recipe_repair import RecipeRepair
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.execution.tasks.report import BlockResult
from sharkpy.plan.logical import LogicalPlan, Scan

if TYPE_CHECKING:
    pass


class TableRepair:
    """Repair of cached tables, which also provides their contents to recipes (RecipeTables)."""

    def __init__(self, versions: TableVersions, lineage: BlockLineage) -> None:
        self._versions = versions
        self._lineage = lineage

    def repair(self, blocks: Iterable[BlockHandle]) -> None:
        """Rebuild the lost or damaged ones of `blocks` in their places, with the same rows.

        Raise CorruptionError, naming table and block, if the source is gone, has changed, or never was a file. Raise
        BlocksReplacedError if the table has new blocks.
        """
        store = self._versions.store
        unmended = [handle for handle in blocks if not store.mend(handle)]
        made = [handle for handle in unmended if self._lineage.of(handle.block_id)]
        if made:
            self._repair_made(made)
        lost = {handle.block_id for handle in unmended} - {handle.block_id for handle in made}
        for entry in self._versions.all():
            with cancellable_lock(entry.lock):
                known = [block for block in entry.version.blocks if block.block_id in lost] if entry.version else []
                # Another query may have repaired the same loss already.
                again = {block.block_id for block in known if not store.mend(block)}
                if again and entry.version is not None:
                    self._rebuild_in(entry, entry.version, again)
                lost -= {block.block_id for block in known}
        for block_id in lost:
            raise BlocksReplacedError.of_block(block_id, "lost, and its table was dropped or changed since")

    def _rebuild_in(self, entry: Entry, version: TableVersion, lost: set[str]) -> None:
        try:
            self._rebuild(lost, version, entry.table)
        except CorruptionError:
            if not entry.table.continuous:
                raise
            # Another process may have folded the files.
            entry.listed = -math.inf
            raise BlocksReplacedError.of_block(min(lost), "lost, and its files were replaced") from None

    def _rebuild(self, lost: set[str], version: TableVersion, table: Table) -> None:
        parts = self._versions.parts
        store, threads, catalog = self._versions.store, parts.engine.parallelism, parts.catalog
        rebuild_blocks(lost, version, table, store, parts.conf, threads, catalog.access_id, catalog.schema_text)

    def _repair_made(self, lost: Sequence[BlockHandle]) -> None:
        """Rebuild blocks by the queries that made them.

        Raise BlocksReplacedError if these gave the rows in another order, so that all their blocks were replaced.
        """
        repair = RecipeRepair(self._versions.parts.engine, self, self._lineage)
        changed = repair.rebuild(lost)
        self._versions.store.enforce_limit()
        if not changed:
            return
        for entry in self._versions.all():
            if entry.version is not None:
                self._replace_made(entry, entry.version, changed, repair, lost[0])
        raise BlocksReplacedError.of_block(lost[0].block_id, "lost, and its table was made again: run the query again")

    def _replace_made(
        self, entry: Entry, version: TableVersion, changed: set[Recipe], repair: RecipeRepair, lost: BlockHandle
    ) -> None:
        """Publish a version in which all blocks of the recipes `changed` are rebuilt."""
        pieces = pieces_of(version, changed, self._lineage)
        made: list[BlockResult] = []
        for recipe, old in pieces.items():
            new_recipe, results = repair.remake(recipe, old, lost)
            self._lineage.note_made(new_recipe, results)
            made += results
        parts = ((block.block_id, self._lineage.of(block.block_id)) for block in version.blocks)
        gone = [block_id for block_id, known in parts if any(piece.recipe in pieces for piece in known)]
        with cancellable_lock(entry.lock):
            is_current = entry.version is not None and set(gone) <= {one.block_id for one in entry.version.blocks}
            if gone and is_current and entry.version is not None:
                rest = entry.version.without(gone)
                version = rest.append([one.handle for one in made], [one.statistics for one in made])
                self._versions.publish(entry, version)
            else:
                repair.discard(made)

    def contents(self, query: LogicalPlan) -> Contents:
        """Return the contents of the tables of `query`; equal for equal rows."""
        return tuple(self._content(node.table) for node in query.walk() if isinstance(node, Scan))

    def _content(self, table: Table) -> object:
        if not is_blocks_alone(table):
            files = table_files(table, self._versions.parts.catalog)
            return table.table_id, self._versions.contents.of(files)
        entry = self._versions.find(table)
        blocks = entry.version.blocks if entry is not None and entry.version is not None else ()
        return tuple(piece for block in blocks for piece in self._lineage.of(block.block_id) or (block.block_id,))

    def table_name(self, block: BlockHandle) -> str:
        """Return the name of the table that has `block` now, or ""."""
        for entry in self._versions.all():
            if entry.version is not None and any(one.block_id == block.block_id for one in entry.version.blocks):
                return entry.table.qualified_name
        return ""
