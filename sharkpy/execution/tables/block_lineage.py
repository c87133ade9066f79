"""Lineage of tables without files: the statements that made their blocks, for rebuilding lost ones."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.version import TableVersion
from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.physical.operators import BlockScan, Filter, Project
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import BlockSink
from sharkpy.plan.expr import Call
from sharkpy.plan.logical import Given, LogicalPlan

if TYPE_CHECKING:
    from sharkpy.execution.tasks.report import BlockResult

Contents = tuple[object, ...]
"""Contents of the tables that a query reads; equal for equal rows."""
Planner = Callable[[LogicalPlan], PlacedPlan]
"""Function that plans a query over the current tables."""


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Recipe of blocks: the statement that made them.

    1. `plan` ran; its scans' blocks are removed here, and `inputs` refers to them. The references are weak, so that
       lineage keeps no data alive.
    2. If the blocks are gone, `query` is planned again, provided that its tables have the same `contents`.
    """

    query: LogicalPlan
    contents: Contents
    plan: PlacedPlan
    inputs: tuple[tuple[weakref.ref[BlockHandle], ...], ...]
    sink: BlockSink
    conf: Conf
    plan_anew: Planner
    lock: Any = field(default_factory=threading.RLock)
    """Held while the recipe runs again."""

    @classmethod
    def of(
        cls,
        query: LogicalPlan,
        contents: Contents,
        physical: PlacedPlan,
        sink: BlockSink,
        conf: Conf,
        plan_anew: Planner,
    ) -> Recipe:
        inputs: list[tuple[weakref.ref[BlockHandle], ...]] = []

        def emptied(node: PhysicalPlan) -> PhysicalPlan:
            if not isinstance(node, BlockScan):
                return node
            inputs.append(tuple(map(weakref.ref, node.blocks.blocks)))
            return replace(node, blocks=replace(node.blocks, blocks=()))

        plan = physical.with_root(physical.root.transform_up(emptied))
        return cls(query, contents, plan, tuple(inputs), sink, conf.copy(), plan_anew)

    def filled_plan(self, only_sources: frozenset[str] | None = None) -> PlacedPlan | None:
        """Return the plan over its original blocks, or only over `only_sources`; None if some are gone."""
        found = [tuple(block for ref in blocks if (block := ref()) is not None) for blocks in self.inputs]
        if [len(blocks) for blocks in found] != [len(blocks) for blocks in self.inputs]:
            return None
        rest = iter(found)

        def filled(node: PhysicalPlan) -> PhysicalPlan:
            if not isinstance(node, BlockScan):
                return node
            blocks = (block for block in next(rest) if only_sources is None or block.block_id in only_sources)
            return replace(node, blocks=replace(node.blocks, blocks=tuple(blocks)))

        return self.plan.with_root(self.plan.root.transform_up(filled))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Block as its statement made it: number `place` of its task, or of its `source` (see BlockResult)."""

    recipe: Recipe
    task: int
    place: int
    num_rows: int
    checksum: int
    source: tuple[str, int] | None = None

    def has_same_rows(self, block: BlockHandle) -> bool:
        """True if `block` has the same rows, in any order."""
        return (block.num_rows, block.checksum) == (self.num_rows, self.checksum)


Pieces = tuple[Piece, ...]
"""Pieces that a block was merged from, in row order; mostly one."""


class BlockLineage:
    """Pieces of each block, kept while its handle exists."""

    def __init__(self) -> None:
        self._pieces: dict[str, Pieces] = {}

    def note(self, handle: BlockHandle, pieces: Pieces) -> None:
        self._pieces[handle.block_id] = pieces
        weakref.finalize(handle, self._pieces.pop, handle.block_id, None).atexit = False

    def note_made(self, recipe: Recipe, results: Sequence[BlockResult]) -> None:
        """Note the blocks made by a run of `recipe`, in task order."""
        places: dict[int, int] = {}
        for result in results:
            place = places[result.task] = places.get(result.task, -1) + 1
            if (checksum := result.handle.checksum) is not None:
                piece = Piece(recipe, result.task, place, result.handle.num_rows, checksum, result.source)
                self.note(result.handle, (piece,))

    def of(self, block_id: str) -> Pieces:
        """Return the pieces of a block; empty if its origin is unknown."""
        return self._pieces.get(block_id, ())


def pieces_of(version: TableVersion, recipes: set[Recipe], lineage: BlockLineage) -> dict[Recipe, list[Piece]]:
    """Return, by recipe, the version's pieces made by `recipes` and by recipes that share a block with them."""
    by_block = [lineage.of(block.block_id) for block in version.blocks]
    affected = set(recipes)
    while more := {
        piece.recipe
        for pieces in by_block
        if any(one.recipe in affected for one in pieces)
        for piece in pieces
        if piece.recipe not in affected
    }:
        affected |= more
    found: dict[Recipe, list[Piece]] = {}
    for piece in itertools.chain.from_iterable(by_block):
        if piece.recipe in affected:
            found.setdefault(piece.recipe, []).append(piece)
    return found


def in_source_order(results: Sequence[BlockResult], physical: PhysicalPlan) -> list[BlockResult]:
    """Sort blocks in the order of the scanned blocks, if each was made from only one of them."""
    scans = (node for node in physical.walk() if isinstance(node, BlockScan))
    places = {block.block_id: place for scan in scans for place, block in enumerate(scan.blocks.blocks)}
    if any(result.source is None for result in results):
        return list(results)
    return sorted(results, key=lambda one: (places[one.source[0]], one.source[1]) if one.source else (0, 0))


def is_row_wise(physical: PhysicalPlan) -> bool:
    """True if the plan computes its rows from one table's blocks, each block separately."""
    leaves = [node for node in physical.walk() if not node.children]
    is_by_row = all(isinstance(node, (BlockScan, Filter, Project)) for node in physical.walk())
    return is_by_row and len(leaves) == 1 and isinstance(leaves[0], BlockScan)


def is_repeatable(query: LogicalPlan) -> bool:
    """True if running the query again gives the same rows: it has no non-deterministic function.

    An RDD is computed again. Rows passed by this process can be read only once, so such a query is not repeatable.
    """
    nodes = list(query.walk())
    return not any(isinstance(node, Given) and node.rows.is_here for node in nodes) and all(
        is_deterministic_function(part.function)
        for node in nodes
        for expr in node.expressions
        for part in expr.walk()
        if isinstance(part, Call)
    )
