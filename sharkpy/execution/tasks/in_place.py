"""Rebuilding of blocks by the task that found them lost or damaged, so that its stage need not rerun."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.columnar import block_folders
from sharkpy.columnar.block_cache import forget_block
from sharkpy.columnar.handle import BlockHandle

if TYPE_CHECKING:
    from sharkpy.execution.tasks.block_rebuild import Siblings
    from sharkpy.execution.tasks.inputs import TaskMetrics
    from sharkpy.execution.tasks.table_recipes import TableRecipes


@dataclass(frozen=True, slots=True)
class InPlaceRebuild:
    """Rebuild of a block and its siblings in place. Failures are left to the driver."""

    recipes_dir: str
    force_encoding: str
    metrics: TaskMetrics

    def __call__(self, handle: BlockHandle) -> bool:
        """Rebuild the block. Return True if it is whole now, by this task or by another that was faster."""
        try:
            return self._rebuild(handle)
        except Exception:  # noqa: BLE001 - the driver tries too, and reports the cause
            return False
        finally:
            forget_block(handle.block_id)

    def _rebuild(self, handle: BlockHandle) -> bool:
        from sharkpy.execution.tasks.table_recipes import find_recipes

        folder = Path(self.recipes_dir)
        recipes = find_recipes(folder, handle.block_id)
        group = recipes.group_of(handle.block_id) if recipes is not None else None
        if recipes is None or group is None:
            return False
        # One task reads the splits; tasks that wait for it find the blocks whole.
        with block_folders.locked_file(str(folder / f"{group[1][0].block_id}.lock")):
            self._rebuild_group(recipes, group)
        return True

    def _rebuild_group(self, recipes: TableRecipes, group: Siblings) -> None:
        from sharkpy.columnar.store import repair_copies
        from sharkpy.execution.tasks.block_rebuild import BlockRebuilder

        def rewrite(block: BlockHandle, content: memoryview) -> None:
            recipes.writer.rewrite(block, content)
            forget_block(block.block_id)
            self.metrics.blocks_rebuilt += 1

        missing = [block for block in group[1] if not repair_copies(block, rewrite)]
        if missing:
            rebuilder = BlockRebuilder(recipes.table, recipes.schema, self.force_encoding)
            for block, content in rebuilder.rebuild(missing, group):
                rewrite(block, content)
