"""Graph in partitions, ready for supersteps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sharkpy.base.errors import CorruptionError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.ml.graph.build import (
    Connecting,
    Dealing,
    Numbering,
    connect_edges,
    deal_edges,
    deal_vertices,
    number_vertices,
)
from sharkpy.ml.graph.input import Pieces, graph_input, session_of, workspace_for
from sharkpy.ml.graph.pieces import EDGES, VERTICES
from sharkpy.ml.graph.workspace import Handle, TaskFunction, Workspace
from sharkpy.ml.models.parameters import check_parameters, integer_at_least

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
