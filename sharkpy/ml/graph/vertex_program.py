"""Vertex program: its input and outcome, a whole partition at a time, as NumPy arrays, and the call of its functions.

Functions are shipped by value, and each failure is an error that names the function's place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.cached_property import cached_property
from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.ml.graph.vertex_ids import Ids, to_numpy
from sharkpy.ml.rdd.partition_functions import as_task_error
from sharkpy.udf.user.python_code import PythonCode, python_code

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
AlongEdges: TypeAlias = Callable[[Array, Array], Array]
"""Function from the messages of edges' sources and the edges' values, two arrays of one length, to the edges'
messages.
"""


@dataclass(frozen=True)
class VertexBlock:
    """Vertices of one partition, n of them; all arrays are of shape (n,) and read-only."""

    number: int
    """Number of the partition, from 0."""
    arrow_ids: Ids
    """Ids as Arrow array of int64 or large_string."""
    values: Array
    degrees: npt.NDArray[np.int64]
    """Number of edges that begin at each vertex."""
    active: Mask
    """Vertices that compute in this superstep: they have not halted, or got a message. Outcomes for inactive vertices
    are ignored: they keep their values and send nothing.
    """
    num_vertices: int
    """Number of vertices of the whole graph."""
    aggregates: Mapping[str, Any]
    """Aggregates of all vertices from the previous superstep; empty in the first one."""
    edges: OutEdges

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ids(self) -> Array:
        """Ids as an array of int64, or an object array of str."""
        return to_numpy(self.arrow_ids)


@dataclass(frozen=True)
class OutEdges:
    """Edges that begin in one partition. Their order is the same in each superstep."""

    sources: npt.NDArray[np.integer[Any]]
    """Place of each edge's source among the vertices of the partition."""
    values: Array | None
    """Values of edges, of shape (edges,); None if edges have none."""


@dataclass(frozen=True)
class Messages:
    """Messages to the vertices of one partition, combined into one per vertex."""

    values: Array
    """Message of each vertex. Without a message: 0 for "sum", the greatest value for "min", the least for "max", else
    the neutral element of `combine`, or 0.
    """
    received: Mask


@dataclass(frozen=True)
class Outcome:
    """Outcome of a vertex program for its partition; arrays are of shape (n,)."""

    values: Array | None = None
    """New values; None: unchanged."""
    send: Array | None = None
    """Message of each vertex along all edges that begin at it; None: no messages."""
    where: Mask | None = None
    """Vertices that send; None: all."""
    along: AlongEdges | None = None
    """Function that makes the message of an edge from its source's message and the edge's value, as `np.add` does for
    distances. None: the source's message is the edge's.
    """
    halt: bool | Mask = True
    """Vertices that vote to halt: a message makes them compute again. False: all compute again."""
    aggregate: Mapping[str, Array] = field(default_factory=dict)
    """Numbers by name, aggregated over all active vertices."""


VertexProgram: TypeAlias = Callable[[VertexBlock, Messages, int], Outcome]
"""Program of the vertices of a partition, given their messages and the superstep, from 0. Other partitions run
elsewhere at the same time: the program must not store anything outside of its Outcome.
"""


@dataclass(frozen=True, slots=True)
class UserCode:
    name: str
    code: PythonCode

    @classmethod
    def of(cls, function: Callable[..., Any]) -> UserCode:
        """Pickle a function. Raise BindError if it cannot be shipped to tasks."""
        name = getattr(function, "__name__", type(function).__name__)
        return cls(name, python_code(name, function))

    def load(self) -> Callable[..., Any]:
        loaded: Callable[..., Any] = self.code.load()
        return loaded


@contextlib.contextmanager
def wrapping_errors(place: str) -> Iterator[None]:
    """Turn exceptions of a user's function into an ExecutionError that names the function and `place`."""
    try:
        yield
    except SharkError:
        raise
    except Exception as error:
        raise as_task_error(error, place) from error
