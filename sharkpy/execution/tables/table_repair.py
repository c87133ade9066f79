"""Repair of lost and damaged blocks of cached tables, from their file splits or by the queries that made them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from sharkpy.base import settings
from sharkpy.base.cancellation import cancellable_lock, check_cancelled, submit
from sharkpy.base.errors import BlocksReplacedError, CancelledError, CorruptionError, ResourceError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import BlockStore
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.stages.plan_runner import PlanRunner
from sharkpy.execution.stages.query_run import QueryRun
from sharkpy.execution.stages.stage_recorder import stage_observer
from sharkpy.execution.tables.block_lineage import BlockLineage, Contents, Piece, Recipe, pieces_of
from sharkpy.execution.tables.cached_table import CacheEntry, has_no_files
from sharkpy.execution.tables.data_files import table_files
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.execution.tasks.block_rebuild import BlockGroup, BlockRebuilder, block_groups, unrepairable
from sharkpy.execution.tasks.report import BlockResult
from sharkpy.execution.tasks.sinks import total_checksum
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.values.types import ArrayType, DataType, DoubleType, FloatType, MapType, Schema, StructType

if TYPE_CHECKING:
    from sharkpy.execution.engine import Engine
    from sharkpy.physical.placement import PlacedPlan


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

    def _rebuild_in(self, entry: CacheEntry, version: TableVersion, lost: set[str]) -> None:
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
        self, entry: CacheEntry, version: TableVersion, changed: set[Recipe], repair: RecipeRepair, lost: BlockHandle
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
        if not has_no_files(table):
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


_WRITE_THREADS = 4


def rebuild_blocks(
    lost: set[str],
    version: TableVersion,
    table: Table,
    store: BlockStore,
    conf: Conf,
    num_threads: int = 1,
    access: Callable[[str], str] | None = None,
    schema_text: Callable[[str], str] = local_path,
) -> None:
    """Rebuild the blocks `lost` of `version` with the same rows in the same places, so that handles stay valid.

    `access` returns access ids for remote files; `schema_text` reads remote schemas. Raise CorruptionError, naming
    table and block, if the source is gone, has changed, or never was a file.
    """
    rebuilder = BlockRebuilder(table, version.schema, conf.value(settings.FORCE_ENCODING), access, schema_text)
    with ThreadPoolExecutor(num_threads) as pool, ThreadPoolExecutor(_WRITE_THREADS) as writes:

        def rebuild(missing: Sequence[BlockHandle], group: BlockGroup) -> list[Future[None]]:
            made = rebuilder.rebuild(missing, group)
            return [writes.submit(store.rewrite, handle, content) for handle, content in made]

        runs = []
        for group in block_groups(version):
            missing = [handle for handle in group[1] if handle.block_id in lost]
            if missing:
                runs.append(submit(pool, rebuild, missing, group))
        try:
            for run in runs:
                for write in run.result():
                    write.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


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
        if not _has_same_rows(pieces, made, recipe.sink.schema):
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
        return unrepairable(block, self.tables.table_name(block), reason)


def _by_place(made: Sequence[BlockResult]) -> dict[tuple[str | int, int], BlockHandle]:
    """Return the blocks by the keys of their pieces: source and number, else task and place."""
    found: dict[tuple[str | int, int], BlockHandle] = {}
    counts: dict[int, int] = {}
    for result in made:
        place = counts[result.task] = counts.get(result.task, -1) + 1
        found[result.source or (result.task, place)] = result.handle
    return found


def _has_same_rows(pieces: Sequence[Piece], made: Sequence[BlockResult], schema: Schema) -> bool:
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
