"""Repair of lost blocks of tables without files, by the queries that made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import settings
from sharkpy.base.cancellation import cancellable_lock, check_cancelled, submit
from sharkpy.base.errors import CancelledError, CorruptionError, ResourceError, SharkError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.stages.plan_runner import PlanRunner
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.recording.stage_recorder import stage_observer
from sharkpy.execution.tables.block_lineage import BlockLineage, Contents, Piece, Recipe
from sharkpy.execution.tasks.block_rebuild import hopeless
from sharkpy.execution.tasks.report import BlockResult
from sharkpy.execution.tasks.row_checksum import total_checksum
from sharkpy.values.types import ArrayType, DataType, DoubleType, FloatType, MapType, Schema, StructType

if TYPE_CHECKING:
    from sharkpy.columnar.store import BlockStore
    from sharkpy.execution.engine import Engine
    from sharkpy.physical.placement import PlacedPlan
    from sharkpy.plan.logical import LogicalPlan

_RECIPES_AT_ONCE = 4


class RecipeTables(Protocol):
    """Interface of the tables in memory that recipes need."""

    def contents(self, query: LogicalPlan) -> Contents:
        """Return the contents of the tables of `query`."""

    def table_name(self, block: BlockHandle) -> str: ...

    def repair(self, blocks: Iterable[BlockHandle]) -> None: ...


@dataclass(frozen=True, slots=True)
class RecipeRepair:
    """Repair by recipes; runs only the tasks that made the lost blocks, and the map stages that these read."""

    engine: Engine
    tables: RecipeTables
    lineage: BlockLineage

    @property
    def store(self) -> BlockStore:
        return self.engine.store

    def rebuild(self, lost: Sequence[BlockHandle]) -> set[Recipe]:
        """Rebuild `lost` in their places if the same tasks make blocks with the same rows.

        Return the recipes whose tasks did not; all blocks of each must be replaced together. Raise CorruptionError if a
        recipe cannot run.
        """
        recipes = {piece.recipe: None for block in lost for piece in self.lineage.of(block.block_id)}
        if len(recipes) == 1:
            return {recipe for recipe in recipes if not self._rebuild(recipe, lost)}
        with ThreadPoolExecutor(min(len(recipes), _RECIPES_AT_ONCE)) as pool:
            runs = {recipe: submit(pool, self._rebuild, recipe, lost) for recipe in recipes}
            return {recipe for recipe, run in runs.items() if not run.result()}

    def _rebuild(self, recipe: Recipe, lost: Sequence[BlockHandle]) -> bool:
        """Rebuild the blocks in `lost` that `recipe` made. Return False if its tasks now make other blocks."""
        with cancellable_lock(recipe.lock):
            # Another query may have repaired the same loss already.
            blocks = [
                (block, piece)
                for block in lost
                for piece in self.lineage.of(block.block_id)
                if piece.recipe is recipe and not self.store.mend(block)
            ]
            if not blocks:
                return True
            sources = [piece.source[0] for _, piece in blocks if piece.source is not None]
            is_by_source = len(sources) == len(blocks)
            plan = recipe.filled_plan(frozenset(sources) if is_by_source else None)
            if plan is None:
                return False
            tasks = None if is_by_source else frozenset(piece.task for _, piece in blocks)
            made = self._run(recipe, plan, tasks, blocks[0][0])
            try:
                return self._put_in_place(blocks, made)
            finally:
                self.discard(made)

    def _put_in_place(self, blocks: Sequence[tuple[BlockHandle, Piece]], made: Sequence[BlockResult]) -> bool:
        found = _by_place(made)
        again: list[tuple[BlockHandle, BlockHandle]] = []
        for block, piece in blocks:
            new = found.get(piece.source or (piece.task, piece.place))
            is_single = len(self.lineage.of(block.block_id)) == 1
            if not is_single or new is None or not piece.has_same_rows(new):
                return False
            again.append((block, new))
        for block, new in again:
            self.store.rewrite_from(block, new)
        return True

    def remake(self, recipe: Recipe, pieces: Sequence[Piece], lost: BlockHandle) -> tuple[Recipe, list[BlockResult]]:
        """Rebuild all blocks of a recipe, its `pieces`. Return the recipe that replaces it, and the blocks.

        The rows are the same, perhaps in another order. Otherwise raise CorruptionError about the block `lost`.
        """
        plan = recipe.filled_plan()
        if plan is None:
            if self.tables.contents(recipe.query) != recipe.contents:
                raise self._hopeless(lost, "a table from which it was computed was changed since")
            plan = recipe.plan_anew(recipe.query)
        made = self._run(recipe, plan, None, lost)
        if not _is_same(pieces, made, recipe.sink.schema):
            self.discard(made)
            raise self._hopeless(lost, "the query that computed it returns other rows now")
        return Recipe.of(recipe.query, recipe.contents, plan, recipe.sink, recipe.conf, recipe.plan_anew), made

    def discard(self, made: Iterable[BlockResult]) -> None:
        self.store.release([result.handle.block_id for result in made], durable=True)

    def _run(
        self, recipe: Recipe, plan: PlacedPlan, only_tasks: frozenset[int] | None, lost: BlockHandle
    ) -> list[BlockResult]:
        check_cancelled()
        description = "make lost blocks again"
        run = QueryRun(
            self.engine,
            description=description,
            repair=self.tables.repair,
            memory_limit=recipe.conf.value(settings.QUERY_MEMORY),
            observer=stage_observer(self.engine, recipe.conf, description),
        )
        try:
            results = PlanRunner(plan, run, recipe.conf).to_sink(recipe.sink, only_tasks)
        except (CancelledError, ResourceError):
            raise
        except SharkError as error:
            raise self._hopeless(lost, error.message) from None
        made = [result for result in results if isinstance(result, BlockResult)]
        self.store.adopt(result.handle for result in made)
        return made

    def _hopeless(self, block: BlockHandle, reason: str) -> CorruptionError:
        return hopeless(block, self.tables.table_name(block), reason)


def _by_place(made: Sequence[BlockResult]) -> dict[tuple[str | int, int], BlockHandle]:
    """Return the blocks by the keys of their pieces: source and number, else task and place."""
    found: dict[tuple[str | int, int], BlockHandle] = {}
    counts: dict[int, int] = {}
    for result in made:
        place = counts[result.task] = counts.get(result.task, -1) + 1
        found[result.source or (result.task, place)] = result.handle
    return found


def _is_same(pieces: Sequence[Piece], made: Sequence[BlockResult], schema: Schema) -> bool:
    """True if the rows are the same in any order. Floating-point sums may differ, so they are not compared."""
    if sum(piece.num_rows for piece in pieces) != sum(result.handle.num_rows for result in made):
        return False
    checksums = [result.handle.checksum or 0 for result in made]
    if total_checksum([piece.checksum for piece in pieces]) == total_checksum(checksums):
        return True
    return any(_has_floats(field.dtype) for field in schema)


def _has_floats(dtype: DataType) -> bool:
    match dtype:
        case ArrayType(element):
            return _has_floats(element)
        case MapType(key, value):
            return _has_floats(key) or _has_floats(value)
        case StructType(_, types):
            return any(map(_has_floats, types))
    return isinstance(dtype, (FloatType, DoubleType))
