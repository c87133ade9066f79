"""Pregel (Malewicz et al.: Pregel, a system for large-scale graph processing, 2010) for whole partitions at a time.

Vertices compute in supersteps: in each, a vertex reads the messages that were sent to it in the one before, sets its
value, and sends messages along the edges that begin at it. It may vote to halt, until a message wakes it. The program
ends when all vertices have halted and no message is on its way. Here the program computes all vertices of a partition
at once, with NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.cached_property import cached_property
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import CorruptionError, ParameterError
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.execution.engine_session import newest_session
from sharkpy.ml.graph import vertex_ids
from sharkpy.ml.graph.combiners import CombineFunction, combiner
from sharkpy.ml.graph.graph import Graph
from sharkpy.ml.graph.superstep import AGGREGATORS, PartitionState, Superstep, run_superstep
from sharkpy.ml.graph.vertex_program import Messages, Outcome, OutEdges, UserCode, VertexBlock, VertexProgram
from sharkpy.ml.graph.workspace import Array, Handle, TaskResult, Workspace, read
from sharkpy.ml.models.estimator import check_parameters, integer_at_least
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.ml.tables.declared_columns import declared_columns
from sharkpy.ml.tables.program_data import given_rows
from sharkpy.ml.tables.save_table import save_as_table
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Given, Project

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

__all__ = ["Graph", "Messages", "OutEdges", "Outcome", "PregelResult", "VertexBlock", "VertexProgram", "pregel"]

_RULES = {"max_supersteps": integer_at_least(1).or_none(), "checkpoint_every": integer_at_least(1)}


def pregel(
    vertices: object,
    edges: object,
    initial: object,
    compute: VertexProgram,
    combine: str | CombineFunction = "sum",
    max_supersteps: int | None = None,
    checkpoint_every: int = 10,
    partitions: int | None = None,
    session: EngineSession | None = None,
    *,
    undirected: bool = False,
    aggregators: Mapping[str, str] | None = None,
    until: Callable[[Mapping[str, Any]], bool] | None = None,
) -> PregelResult:
    """Run `compute` in supersteps over a graph, until all vertices have halted.

    1. `edges`: a TableRDD, a table's name, an Arrow table or data frame of two or three columns (source, target,
       value), a tuple of such columns, an array of shape (edges, 2), or a `Graph`, which is dealt to partitions once
       for any number of runs. Ids are integers or strings, values numbers; NULL is an error. An edge may occur several
       times, and lead back to its source. `undirected`: each edge leads both ways.
    2. `vertices`: the same kinds of data, with ids, or with ids and values (numbers, or records of a tuple of arrays).
       A vertex that only edges name is added, with the `initial` value. None: the vertices are the ends of the edges.
    3. `initial`: a value, a NumPy record for several values, or a function from a VertexBlock to an array of values. In
       that block `active` marks the listed vertices; `values` has their listed values, and 0 for all other vertices.
    4. `combine`: the combination of messages to the same vertex, "sum", "min", "max", or an associative and commutative
       function of two arrays.
    5. `aggregators`: name -> "sum", "min" or "max", for the names in `Outcome.aggregate`; sums need no entry. `until`
       gets the aggregates after each superstep, and ends the program by returning True.
    6. `partitions`: the default depends only on the number of edges. The result depends on it to the last bit, but not
       on the number of tasks or cores. Every `checkpoint_every` supersteps the vertices are written to disk, and
       earlier states are dropped.

    Small graphs run in this process if the session allows it (`shark.placement.driver`), or without a session.
    """
    check_parameters("pregel", {"max_supersteps": max_supersteps, "checkpoint_every": checkpoint_every}, _RULES)
    combiner(combine)
    for name, kind in (aggregators or {}).items():
        if kind not in AGGREGATORS:
            raise ParameterError(f'aggregator "{name}" must be one of {", ".join(AGGREGATORS)}, not {kind!r}')
    if isinstance(edges, Graph):
        if vertices is not None:
            raise ParameterError("a Graph has its vertices", hint="give vertices=None")
        graph = edges
    else:
        graph = Graph.of(vertices, edges, undirected=undirected, partitions=partitions, session=session)
    first = Superstep(
        number=0,
        vertices=graph.vertices,
        edges=graph.edges,
        num_vertices=graph.num_vertices,
        initial=UserCode.of(initial) if callable(initial) else initial,
        program=UserCode.of(compute),
        combine=combine if isinstance(combine, str) else UserCode.of(combine),
        aggregators=dict(aggregators or {}),
        aggregates={},
        states=(),
    )
    with graph.session.working("pregel") if graph.session is not None else nullcontext():
        return _run(graph, first, max_supersteps, checkpoint_every, until)


def _run(
    graph: Graph,
    step: Superstep,
    max_supersteps: int | None,
    checkpoint_every: int,
    until: Callable[[Mapping[str, Any]], bool] | None,
) -> PregelResult:
    lineage = SuperstepLineage(graph.workspace, (*graph.vertices, *graph.edges))
    history: list[Mapping[str, Any]] = []
    states: tuple[PartitionState, ...] = ()
    has_halted = False
    for number in itertools.count():
        check_cancelled()
        awake = _awake(states, graph.num_partitions)
        if not awake or number == max_supersteps:
            has_halted = not awake
            break
        step = replace(step, number=number, states=states, aggregates=history[-1] if history else {})
        is_checkpoint = graph.workspace.can_lose and number % checkpoint_every == checkpoint_every - 1
        # A checkpoint also stores the partitions that do not compute.
        partitions = range(graph.num_partitions) if is_checkpoint else awake
        made = lineage.run(step, partitions, is_checkpoint=is_checkpoint)
        states = _after(lineage.states or states, dict(zip(partitions, made, strict=True)), graph.num_partitions)
        lineage.note(step, states, is_checkpoint=is_checkpoint)
        history.append(_aggregated([one.value[1] for one in made], step.aggregators))
        if until is not None and until(history[-1]):
            break
    return PregelResult(graph, states, history, has_halted)


def _awake(states: tuple[PartitionState, ...], count: int) -> list[int]:
    """Return the partitions with a vertex that has not halted, or with a message on its way to them."""
    if not states:
        return list(range(count))
    waiting = np.zeros(count, bool)
    for state in states:
        if state.sent_to:
            waiting |= np.array(state.sent_to) > 0
    return [number for number, state in enumerate(states) if state.num_awake or waiting[number]]


def _after(
    states: tuple[PartitionState, ...], made: Mapping[int, TaskResult], count: int
) -> tuple[PartitionState, ...]:
    """Return the states after a superstep. Partitions that did not compute keep their state, without the messages they
    sent.
    """
    return tuple(
        made[number].value[0] if number in made else states[number].without_messages() for number in range(count)
    )


def _aggregated(parts: list[Mapping[str, Any]], aggregators: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the aggregates of all partitions, combined in the order of partitions."""
    found: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            aggregate = AGGREGATORS[aggregators.get(name, "sum")]
            found[name] = aggregate(found[name], value) if name in found else value
    return found


_MOST_REPAIRS = 100
"""Limit on the blocks recomputed in one superstep; after that the failure is raised."""


@dataclass(slots=True)
class SuperstepLineage:
    """Runner of supersteps that records them. Tasks are deterministic: recomputed states are the same, bit by bit."""

    workspace: Workspace
    graph: Sequence[Handle]
    """Arrays of vertices and edges."""
    _records: list[tuple[Superstep, tuple[PartitionState, ...]]] = field(default_factory=list)
    """Supersteps with the states after them. The first record is durable, or it is the first superstep."""

    def run(self, step: Superstep, partitions: Sequence[int], *, is_checkpoint: bool) -> list[TaskResult]:
        """Run the tasks of a superstep, after recomputing lost inputs."""
        for _ in range(_MOST_REPAIRS):
            try:
                return self._run(step, partitions, is_checkpoint)
            except CorruptionError as error:
                self._repair(error)
                step = replace(step, states=self.states)
        return self._run(step, partitions, is_checkpoint)

    def _run(self, step: Superstep, partitions: Sequence[int], is_durable: bool = False) -> list[TaskResult]:
        near = [step.edges[partition] for partition in partitions]
        return self.workspace.run(run_superstep, partitions, step, near=near, is_durable=is_durable)

    @property
    def states(self) -> tuple[PartitionState, ...]:
        """States after the last superstep; empty before the first."""
        return self._records[-1][1] if self._records else ()

    def note(self, step: Superstep, states: tuple[PartitionState, ...], *, is_checkpoint: bool) -> None:
        """Record a superstep. Drop earlier records after a checkpoint, or if arrays cannot get lost."""
        if is_checkpoint or not self.workspace.can_lose:
            self._records.clear()
        self._records.append((replace(step, states=()), states))

    def _repair(self, error: CorruptionError) -> None:
        """Recompute the block of `error`. Raise `error` if that is impossible."""
        for handle in self.graph:
            if _is_block(handle, error.block_id):
                if self.workspace.mend(handle):
                    return
                raise error
        for place, (_, states) in enumerate(self._records):
            for partition, state in enumerate(states):
                if _is_block(state.handle, error.block_id):
                    if not self.workspace.mend(state.handle):
                        self._compute_again(place, partition, error)
                    return
        raise error

    def _compute_again(self, place: int, partition: int, error: CorruptionError) -> None:
        step, states = self._records[place]
        if place == 0 and step.number > 0:
            raise error
        lost = states[partition].handle
        for _ in range(_MOST_REPAIRS):
            before = self._records[place - 1][1] if place else ()
            try:
                made = self._run(replace(step, states=before), [partition])
                break
            except CorruptionError as other:
                self._repair(other)
        else:
            raise error
        again: PartitionState = made[0].value[0]
        for number, (kept, states) in enumerate(self._records):
            found = tuple(replace(one, handle=again.handle) if one.handle is lost else one for one in states)
            self._records[number] = (kept, found)


def _is_block(handle: Handle, block_id: str | None) -> bool:
    return isinstance(handle, BlockHandle) and handle.block_id == block_id


@dataclass(frozen=True, eq=False)
class PregelResult:
    """Vertices by partition, and the history of their values' aggregates. The arrays are freed with this object."""

    graph: Graph
    states: Sequence[PartitionState]
    history: Sequence[Mapping[str, Any]]
    """Aggregates by superstep."""
    has_halted: bool
    """True if all vertices have halted; False if the program ended for another reason."""

    @property
    def num_supersteps(self) -> int:
        return len(self.history)

    @property
    def aggregates(self) -> Mapping[str, Any]:
        """Aggregates of the last superstep."""
        return self.history[-1] if self.history else {}

    @cached_property
    def _columns(self) -> tuple[vertex_ids.Ids, Array]:
        """Ids in ascending order, and values."""
        ids = vertex_ids.concat([vertex_ids.from_arrays("ids", read(handle)) for handle in self.graph.vertices])
        values = [self._values(number) for number in range(self.graph.num_partitions)]
        order = pc.sort_indices(ids)
        return ids.take(order), np.concatenate(values)[order.to_numpy()]

    def _values(self, partition: int) -> Array:
        return read(self.states[partition].handle)["values"]

    @property
    def ids(self) -> Array:
        """Ids of all vertices, ascending: int64, or an object array of str."""
        return vertex_ids.to_numpy(self._columns[0])

    @property
    def values(self) -> Array:
        """Values of the vertices of `ids`, in their order."""
        return self._columns[1]

    def to_arrow(self, vertex: str = "vertex", value: str = "value") -> pa.Table:
        """Return a table of all vertices, by ascending id. The fields of records become columns with their names."""
        return _table(*self._columns, vertex, value)

    def to_table_rdd(
        self,
        vertex: str = "vertex",
        value: str = "value",
        session: EngineSession | None = None,
        *,
        columns: Sequence[str] | None = None,
    ) -> TableRDD:
        """Return a TableRDD of the vertices, cached in blocks from its first use on; default `session`: the graph's.

        `columns`: fields of records to keep.
        """
        ids = vertex_ids.from_arrays("ids", read(self.graph.vertices[0]))
        schema = _table(ids[:0], self._values(0)[:0], vertex, value).schema
        session = session or self.graph.session or newest_session()
        rows = given_rows(session, self._rows(session, vertex, value), declared_columns(schema))
        refs = tuple(ColumnRef(place, field.name, field.dtype) for place, field in enumerate(rows.schema, start=1))
        wanted = refs if columns is None else (refs[0], *(ref for ref in refs if ref.name in columns))
        # Tasks read rows that no query makes from blocks.
        return TableRDD(session, Project(Given(refs, rows), wanted)).cache()

    def _rows(self, session: EngineSession, vertex: str, value: str) -> Any:
        if not self.graph.workspace.can_lose:
            return self.to_arrow(vertex, value)
        handles = [state.handle for state in self.states]
        read_rows = _VertexRows(self.graph.vertices, handles, vertex, value)
        numbers = range(self.graph.num_partitions)
        return session.engine.jobs.context.parallelize(numbers, len(numbers)).map(read_rows)

    def save_as_table(
        self, name: str, vertex: str = "vertex", value: str = "value", session: EngineSession | None = None, **how: Any
    ) -> int:
        """Create a table of the vertices, see `SharkContext.save_as_table`. Return their number."""
        table = self.to_table_rdd(vertex, value, session)
        return save_as_table(table.session, table, name, **how)


@dataclass(frozen=True, slots=True)
class _VertexRows:
    """Source of the vertices of a partition, in a task. In this process it keeps the blocks alive."""

    vertices: Sequence[Handle]
    states: Sequence[Handle]
    vertex: str
    value: str

    def __call__(self, partition: int) -> pa.Table:
        ids = vertex_ids.from_arrays("ids", read(self.vertices[partition]))
        return _table(ids, read(self.states[partition])["values"], self.vertex, self.value)


def _table(ids: vertex_ids.Ids, values: Array, vertex: str, value: str) -> pa.Table:
    strings = ids.cast(pa.string()) if ids.type == vertex_ids.STRINGS else ids
    fields = values.dtype.names
    columns = {value: values} if fields is None else {name: np.ascontiguousarray(values[name]) for name in fields}
    return pa.table({vertex: strings, **{name: pa.array(column) for name, column in columns.items()}})
