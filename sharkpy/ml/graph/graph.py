"""Graph in partitions, ready for supersteps, made of arrays, data frames or tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from sharkpy.base import settings
from sharkpy.base.errors import ColumnNotFoundError, CorruptionError, DataError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.engine_session import newest_session
from sharkpy.execution.queries.write_query import write_blocks
from sharkpy.ml.graph import vertex_ids
from sharkpy.ml.graph.build_graph import (
    EDGES,
    VALUE,
    VERTICES,
    Connecting,
    Dealing,
    Numbering,
    Piece,
    Role,
    checked_columns,
    connect_edges,
    deal_edges,
    deal_vertices,
    number_vertices,
)
from sharkpy.ml.graph.vertex_ids import Ids
from sharkpy.ml.graph.workspace import Array, Handle, ProcessWorkspace, RddWorkspace, TaskFunction, Workspace
from sharkpy.ml.models.estimator import check_parameters, integer_at_least
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.optimizer.decisions import place_stage
from sharkpy.physical.plan_context import FreshIds
from sharkpy.physical.stage_program import BlockSink
from sharkpy.plan.logical import Project
from sharkpy.values.types import Field, Schema

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

_RULES = {"partitions": integer_at_least(1).or_none()}
_MANY_EDGES = 200_000
_PARTITION_EDGES = 2_500_000
_FEWEST_PARTITIONS = 4
"""Least number of partitions of a graph with many edges, so that all cores have work."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Vertices and edges, dealt to partitions by hash. Any number of programs may run over it.

    Its arrays are freed with the last reference to the graph. Results depend on the number of partitions, never on the
    number of tasks or cores.
    """

    workspace: Workspace
    vertices: tuple[Handle, ...]
    """Arrays of each partition, see `build.number_vertices`."""
    edges: tuple[Handle, ...]
    """Arrays of each partition, see `build.connect_edges`."""
    partition_sizes: tuple[int, ...]
    num_edges: int
    session: EngineSession | None = None

    @property
    def num_vertices(self) -> int:
        return sum(self.partition_sizes)

    @property
    def num_partitions(self) -> int:
        return len(self.vertices)

    @classmethod
    def of(
        cls,
        vertices: object,
        edges: object,
        *,
        undirected: bool = False,
        partitions: int | None = None,
        session: EngineSession | None = None,
        columns: Sequence[str | int] | None = None,
    ) -> Graph:
        """Build a graph, see `pregel`. `columns` picks source, target and, if wanted, value from edges with more
        columns.
        """
        check_parameters("Graph", {"partitions": partitions}, _RULES)
        found = session_of((edges, vertices), session)
        with found.working("Graph") if found is not None else nullcontext():
            inputs = [graph_input(edges, EDGES, found, columns)]
            if vertices is not None:
                inputs.append(graph_input(vertices, VERTICES, found))
            workspace = workspace_for(sum(one.size_bytes for one in inputs), found)
            count = partitions or _num_partitions(max(one.num_rows for one in inputs))
            of_edges, *of_vertices = [one.pieces(workspace) for one in inputs]
            graph = _build(workspace, of_vertices[0] if of_vertices else Pieces(), of_edges, count, undirected)
            return replace(graph, session=found)


def _num_partitions(num_rows: int) -> int:
    """Return the number of partitions. It depends only on the data, because sums are taken partition by partition."""
    return max(_FEWEST_PARTITIONS if num_rows >= _MANY_EDGES else 1, -(-num_rows // _PARTITION_EDGES))


def _build(workspace: Workspace, vertices: Pieces, edges: Pieces, count: int, is_undirected: bool) -> Graph:
    partitions = range(count)
    dealt_vertices = _dealt(workspace, deal_vertices, vertices, count, is_undirected)
    dealt_edges = _dealt(workspace, deal_edges, edges, count, is_undirected)
    numbered = workspace.run(number_vertices, partitions, Numbering(dealt_vertices, dealt_edges), is_durable=True)
    known = tuple(made.handles[0] for made in numbered)
    sizes = tuple(int(made.value) for made in numbered)
    connected = workspace.run(connect_edges, partitions, Connecting(dealt_edges, known, sizes), is_durable=True)
    num_edges = sum(int(made.value) for made in connected)
    return Graph(workspace, known, tuple(made.handles[0] for made in connected), sizes, num_edges)


def _dealt(
    workspace: Workspace, function: TaskFunction, pieces: Pieces, count: int, is_undirected: bool
) -> tuple[Handle, ...]:
    dealing = Dealing(pieces.pieces, count, is_undirected)
    if not pieces.pieces:
        return ()
    try:
        made = workspace.run(function, range(len(pieces.pieces)), dealing)
    except CorruptionError:
        pieces.repair([piece.handle for piece in pieces.pieces if isinstance(piece.handle, BlockHandle)])
        made = workspace.run(function, range(len(pieces.pieces)), dealing)
    return tuple(one.handles[0] for one in made)


T = TypeVar("T")
_PIECE_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Pieces:
    """Input ready to be dealt. `repair` recomputes its lost blocks."""

    pieces: tuple[Piece, ...] = ()
    num_rows: int = 0
    size_bytes: int = 0
    repair: Callable[[Sequence[BlockHandle]], None] = field(default=lambda _: None)


class Input(Protocol):
    @property
    def num_rows(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def pieces(self, workspace: Workspace) -> Pieces: ...


@dataclass(frozen=True, slots=True)
class ColumnInput:
    """Input from columns of this process."""

    ids: list[Ids]
    values: Array | None
    role: Role

    @property
    def num_rows(self) -> int:
        return len(self.ids[0])

    @property
    def size_bytes(self) -> int:
        return sum(one.nbytes for one in self.ids) + (0 if self.values is None else self.values.nbytes)

    def pieces(self, workspace: Workspace) -> Pieces:
        made = []
        for start in range(0, self.num_rows, _PIECE_ROWS):
            arrays: dict[str, Array] = {}
            for name, column in zip(self.role.ids, self.ids, strict=True):
                arrays |= vertex_ids.to_arrays(name, column.slice(start, _PIECE_ROWS))
            if self.values is not None:
                arrays[VALUE] = self.values[start : start + _PIECE_ROWS]
            made.append(Piece(workspace.put(arrays), self.role))
        return Pieces(tuple(made), self.num_rows, self.size_bytes)


@dataclass(frozen=True, slots=True)
class QueryInput:
    """Input from the rows of a query, as blocks of the store."""

    session: EngineSession
    blocks: tuple[BlockHandle, ...]
    names: tuple[str, ...]
    role: Role

    @classmethod
    def of(cls, table: TableRDD, role: Role, columns: Sequence[str | int] | None) -> QueryInput:
        query, session = table._query, table.session
        plan = query.ready_plan()
        chosen = _chosen(plan.output, [column.name for column in plan.output], role, columns)
        ids, names = FreshIds(plan), tuple(f"c{place}" for place in range(len(chosen)))
        # A column may be chosen twice.
        plan = Project(plan, tuple(ids.alias(column, name) for name, column in zip(names, chosen, strict=True)))
        schema = Schema(tuple(Field(column.name, column.dtype) for column in plan.output))
        sink = BlockSink(schema, _PIECE_ROWS, None)
        blocks = tuple(handle for handle, _ in write_blocks(session, plan, sink, query.snapshot))
        store = session.engine.store
        store.adopt(blocks)
        # The blocks are freed with the last of their handles.
        store.retire(blocks)
        store.enforce_limit()
        return cls(session, blocks, names, role)

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    @property
    def size_bytes(self) -> int:
        return sum(block.size_bytes for block in self.blocks)

    def pieces(self, workspace: Workspace) -> Pieces:
        del workspace
        made = tuple(Piece(block, self.role, self.names) for block in self.blocks)
        return Pieces(made, self.num_rows, self.size_bytes, self.session.table_cache.repair)


def session_of(inputs: Sequence[object], session: EngineSession | None) -> EngineSession | None:
    """Return the session of the tables among `inputs` unless one is given. For table names it is the newest in this
    process.
    """
    if session is None:
        session = next((one.session for one in inputs if isinstance(one, TableRDD)), None)
    if session is None and any(isinstance(one, str) for one in inputs):
        session = newest_session()
    return session


def graph_input(
    data: Any, role: Role, session: EngineSession | None, columns: Sequence[str | int] | None = None
) -> Input:
    """Return the input of a graph from a TableRDD, a table's name, an Arrow table, a data frame, a tuple of columns, or
    an array.

    `columns`: names or positions of the columns to take. Raise ColumnNotFoundError, DataError or TypeMismatchError that
    names the invalid column.
    """
    if isinstance(data, str):
        quoted = ".".join(f"`{part.strip('`')}`" for part in data.strip().split("."))
        data = TableRDD.of_text(session or newest_session(), f"SELECT * FROM {quoted}")
    if isinstance(data, TableRDD):
        return QueryInput.of(data, role, columns)
    found, names = _columns(data, role)
    return ColumnInput(*checked_columns(_chosen(found, names, role, columns), role), role)


def _columns(data: Any, role: Role) -> tuple[list[Any], list[str]]:
    """Return the columns and their names, or no names if the columns have none."""
    if type(data).__module__.startswith("pandas"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    elif hasattr(data, "to_arrow"):
        data = data.to_arrow()
    if isinstance(data, pa.Table | pa.RecordBatch):
        return list(data.columns), data.schema.names
    if isinstance(data, tuple):
        return list(data), []
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return [data], []
    array = np.asarray(data)
    if array.ndim == 2:
        return list(array.T), []
    # A list without elements has no second dimension.
    return [array] * len(role.ids) if not array.size else [array], []


def _chosen(found: Sequence[T], names: Sequence[str], role: Role, columns: Sequence[str | int] | None) -> Sequence[T]:
    if columns is None:
        if len(found) not in (len(role.ids), len(role.ids) + 1):
            there = f", not {', '.join(names)}" if names else ""
            raise DataError(f"{role.name} have {len(found)} columns", hint=f"give {role.shape}{there}")
        return found
    lowered = [name.lower() for name in names]
    chosen = []
    for column in columns:
        if isinstance(column, int):
            if column >= len(found):
                raise DataError(f"{role.name} have {len(found)} columns", hint=f"give {role.shape}")
            chosen.append(found[column])
        elif column.lower() in lowered:
            chosen.append(found[lowered.index(column.lower())])
        else:
            hint = did_you_mean(column, names) or (f"there are {', '.join(names)}" if names else "they have no names")
            raise ColumnNotFoundError(f'{role.name} have no column "{column}"', hint=hint)
    return chosen


def workspace_for(size_bytes: int, session: EngineSession | None) -> Workspace:
    """Return the workspace of a graph: this process if the graph is small and local and the session, if any, allows it;
    else RDD tasks.
    """
    if session is None:
        return ProcessWorkspace()
    limit, is_allowed = (
        session.conf.value(settings.DRIVER_PLACEMENT_BYTES),
        session.conf.value(settings.DRIVER_PLACEMENT),
    )
    placed = place_stage(size_bytes, session.engine.is_local, limit, is_allowed)
    return ProcessWorkspace() if placed.is_driver else RddWorkspace(session.engine, session.pool)
