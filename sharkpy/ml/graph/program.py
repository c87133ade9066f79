"""What a vertex program sees and says: a whole partition at a time, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.ml.graph.ids import Ids, to_numpy

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
AlongEdges: TypeAlias = Callable[[Array, Array], Array]
"""Messages of edges, from what their sources send and the edges' values: two arrays of one length to a third."""


@dataclass(frozen=True)
class VertexBlock:
    """The vertices of one partition, n of them; all arrays are of shape (n,) and read-only."""

    number: int
    """Of the partition, from 0."""
    arrow_ids: Ids
    """int64 or large_string."""
    values: Array
    degrees: npt.NDArray[np.int64]
    """Edges that begin at each vertex."""
    active: Mask
    """Vertices that compute in this superstep: those that have not halted, or got a message. What the program says of
    the others is ignored: they keep their values and send nothing."""
    num_vertices: int
    """Of the whole graph."""
    aggregates: Mapping[str, Any]
    """What all vertices have aggregated in the superstep before; empty in the first one."""
    edges: OutEdges

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ids(self) -> Array:
        """int64, or an object array of str."""
        return to_numpy(self.arrow_ids)


@dataclass(frozen=True)
class OutEdges:
    """The edges that begin in one partition: in an order of their own, the same in each superstep."""

    sources: npt.NDArray[np.integer[Any]]
    """Place of each edge's source among the vertices of the partition."""
    values: Array | None
    """Of shape (edges,); None where edges have none."""


@dataclass(frozen=True)
class Messages:
    """What reached the vertices of one partition, combined, one place a vertex."""

    values: Array
    """Where nothing came: 0 for "sum", the greatest value for "min", the least for "max", else what `combine` leaves
    unchanged, or 0."""
    received: Mask


@dataclass(frozen=True)
class Outcome:
    """What a vertex program says of its partition; arrays are of shape (n,)."""

    values: Array | None = None
    """The new values; None: as they were."""
    send: Array | None = None
    """What each vertex sends along all edges that begin at it; None: nobody sends."""
    where: Mask | None = None
    """The vertices that send; None: all."""
    along: AlongEdges | None = None
    """Makes the message of an edge from what its source sends and the edge's value, as `np.add` does for distances;
    None: what is sent is the message."""
    halt: bool | Mask = True
    """The vertices that vote to halt: they compute again when a message comes. False: all compute again."""
    aggregate: Mapping[str, Array] = field(default_factory=dict)
    """Numbers by name, aggregated over all active vertices."""


VertexProgram: TypeAlias = Callable[[VertexBlock, Messages, int], Outcome]
"""Of the vertices of a partition, their messages and the superstep, from 0. Vertices of other partitions are computed
elsewhere at the same time: the program keeps nothing outside of its Outcome."""
