"""Result of a Pregel program: the vertices with their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.execution.engine_session import newest_session
from sharkpy.ml.graph import ids as vertex_ids
from sharkpy.ml.graph.graph import Graph
from sharkpy.ml.graph.superstep import PartitionState
from sharkpy.ml.graph.workspace import Array, Handle, read
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.ml.tables.declared_columns import declared_columns
from sharkpy.ml.tables.given_data import given_rows
from sharkpy.ml.tables.save_table import save_as_table
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Given, Project

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession


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
