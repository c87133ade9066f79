"""Building of a graph from pieces of vertices and edges, in three passes: deal to partitions, number vertices, connect
edges. Tasks import this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.columnar.block_cache import open_block
from sharkpy.columnar.compiled import compiled
from sharkpy.columnar.handle import BlockHandle
from sharkpy.ml.graph import vertex_ids
from sharkpy.ml.graph.vertex_ids import Ids
from sharkpy.ml.graph.workspace import Array, ArrayWriter, Handle, TaskResult, read

VALUE = "value"
"""Name of the array of values. The arrays of ids are named by the role."""


@dataclass(frozen=True, slots=True)
class Role:
    """Meaning of an input's columns: ids, and perhaps values after them."""

    name: str
    ids: tuple[str, ...]
    """Name of each column of ids, for errors."""

    @property
    def shape(self) -> str:
        count = len(self.ids)
        return f"{count} or {count + 1} columns: {', '.join(self.ids)}, and values"


EDGES = Role("edges", ("sources of edges", "targets of edges"))
VERTICES = Role("vertices", ("ids of vertices",))


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of an input's rows: `columns` of a table's block, or arrays without one."""

    handle: Handle
    role: Role
    columns: tuple[str, ...] = ()

    def read(self) -> tuple[list[Ids], Array | None]:
        """Read the columns of ids, and the values if there are any. Raise DataError if a value is NULL."""
        if self.columns and isinstance(self.handle, BlockHandle):
            table = open_block(self.handle).read(self.columns, decoded=True)
            return checked_columns(table.columns, self.role)
        arrays = read(self.handle)
        return [vertex_ids.from_arrays(name, arrays) for name in self.role.ids], arrays.get(VALUE)


def checked_columns(columns: Sequence[Any], role: Role) -> tuple[list[Ids], Array | None]:
    """Return ids and values of columns. Raise DataError or TypeMismatchError that names the invalid column."""
    ids = [vertex_ids.as_ids(column, what) for column, what in zip(columns, role.ids, strict=False)]
    lengths = {len(column) for column in (*ids, *columns[len(ids) :])}
    if len(lengths) > 1:
        raise DataError(f"the columns of {role.name} have different lengths: {', '.join(map(str, sorted(lengths)))}")
    if len({str(one.type) for one in ids if len(one)}) > 1:
        raise DataError(f"{role.name} have ids of type {ids[0].type} and {ids[1].type}", hint="cast them to one type")
    return ids, _numeric_values(columns[-1], role) if len(columns) > len(ids) else None


def _numeric_values(values: Any, role: Role) -> Array:
    what = f"values of {role.name}"
    if isinstance(values, pa.Array | pa.ChunkedArray):
        if values.null_count:
            raise DataError(f"{values.null_count:,} of {len(values):,} {what} are NULL", hint="leave these rows out")
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
        values = values.to_numpy() if isinstance(values, pa.ChunkedArray) else values.to_numpy(zero_copy_only=False)
    array = np.asarray(values)
    is_record = role is VERTICES and array.dtype.fields is not None and not array.dtype.hasobject
    if array.ndim != 1 or (array.dtype.kind not in "biuf" and not is_record):
        raise TypeMismatchError(f"{what} are not numeric: {array.dtype} of {array.ndim} dimensions")
    return array


SOURCE, TARGET, VERTEX = "source", "target", "vertex"
"""Names of the arrays of dealt edges and vertices. If there are values, VALUE is one too. Lists of vertices have no
edges.
"""


@dataclass(frozen=True, slots=True)
class Dealing:
    pieces: tuple[Piece, ...]
    num_partitions: int
    is_undirected: bool


def deal_vertices(number: int, writer: ArrayWriter, argument: Dealing) -> TaskResult:
    """Sort a piece of the list of vertices by partition."""
    (given,), value = argument.pieces[number].read()
    order, bounds = _by_partition(given, argument.num_partitions)
    arrays = {**vertex_ids.to_arrays(VERTEX, vertex_ids.taken(given, order)), "vertex bounds": bounds}
    if value is not None:
        arrays[VALUE] = value[order]
    return TaskResult((writer.write(arrays),))


def deal_edges(number: int, writer: ArrayWriter, argument: Dealing) -> TaskResult:
    """Sort a piece of edges by the partition of the source, and its distinct vertices by their partition."""
    (source, target), value = argument.pieces[number].read()
    if argument.is_undirected:
        # An edge from a vertex to itself has one direction.
        is_loop: Any = pc.equal(source, target)
        back = np.flatnonzero(~is_loop.to_numpy(zero_copy_only=False))
        value = None if value is None else np.concatenate([value, value[back]])
        source, target = (
            pa.concat_arrays([source, vertex_ids.taken(target, back)]),
            pa.concat_arrays([target, vertex_ids.taken(source, back)]),
        )
    named = vertex_ids.sorted_unique(vertex_ids.concat([source, target]))
    order, bounds = _by_partition(named, argument.num_partitions)
    arrays = {**vertex_ids.to_arrays(VERTEX, vertex_ids.taken(named, order)), "vertex bounds": bounds}
    order, bounds = _by_partition(source, argument.num_partitions)
    arrays |= {**vertex_ids.to_arrays(SOURCE, vertex_ids.taken(source, order)), "edge bounds": bounds}
    arrays |= vertex_ids.to_arrays(TARGET, vertex_ids.taken(target, order))
    if value is not None:
        arrays[VALUE] = value[order]
    return TaskResult((writer.write(arrays),))


def _by_partition(ids: Ids, count: int) -> tuple[Array, Array]:
    """Return the stable order by partition, and the start of each partition in it."""
    partitions = vertex_ids.partitions_of(ids, count)
    order = np.argsort(partitions.astype(np.int16) if count < 1 << 15 else partitions, kind="stable")
    return order, np.searchsorted(partitions[order], np.arange(count + 1))


@dataclass(frozen=True, slots=True)
class Numbering:
    dealt_vertices: tuple[Handle, ...]
    """Dealt pieces of the list of vertices; empty without a list."""
    dealt_edges: tuple[Handle, ...]


def number_vertices(partition: int, writer: ArrayWriter, argument: Numbering) -> TaskResult:
    """Number the vertices of a partition by id, with their listed values. The result's value is their count."""
    listed = [read(handle) for handle in argument.dealt_vertices]
    named = [read(handle) for handle in argument.dealt_edges]
    pieces = [_segment(VERTEX, arrays, "vertex bounds", partition) for arrays in (*listed, *named)]
    ids = vertex_ids.sorted_unique(vertex_ids.concat(pieces))
    arrays = vertex_ids.to_arrays("ids", ids)
    if any(VALUE in one for one in listed):
        values = np.concatenate([_values(one, "vertex bounds", partition) for one in listed])
        places = vertex_ids.find(vertex_ids.concat(pieces[: len(listed)]), ids)
        arrays |= _listed_values(values, places, ids)
    return TaskResult((writer.write(arrays),), len(ids))


def _listed_values(values: Array, places: Array, ids: Ids) -> dict[str, Array]:
    counts = np.bincount(places, minlength=len(ids))
    if len(ids) and counts.max() > 1:
        twice = ids[int(counts.argmax())].as_py()
        raise DataError(f"vertex {twice!r} is {counts.max()} times in the list of vertices")
    by_place = np.zeros(len(ids), values.dtype)
    by_place[places] = values
    return {"values": by_place, "is listed": counts > 0}


@dataclass(frozen=True, slots=True)
class Connecting:
    dealt_edges: tuple[Handle, ...]
    vertices: tuple[Handle, ...]
    num_vertices: tuple[int, ...]


def connect_edges(partition: int, writer: ArrayWriter, argument: Connecting) -> TaskResult:
    """Sort the edges of a partition by target, then source. The result's value is their count.

    A slot is the group of one target's edges, which begin at `starts[slot]`. Arrays: `sources` (place of the source, by
    edge), `values` (of edges), `starts`, `targets` (place of the target in its partition, by slot), `slot bounds`
    (start of each partition's slots), `degrees` (edges of each source), `by source` (edges in the order of sources).
    """
    dealt = [read(handle) for handle in argument.dealt_edges]
    known = vertex_ids.from_arrays("ids", read(argument.vertices[partition]))
    sources = vertex_ids.find(_edge_ends(SOURCE, dealt, partition), known)
    target_ids = _edge_ends(TARGET, dealt, partition)
    bases = np.concatenate([[0], np.cumsum(argument.num_vertices)])
    targets = _numbers(target_ids, argument.vertices, bases)
    values = None
    if any(VALUE in one for one in dealt):
        values = np.concatenate([_values(one, "edge bounds", partition) for one in dealt])
    targets, sources, values = _in_order(targets, sources, values, int(bases[-1]), len(known))
    is_first = np.concatenate([[True], targets[1:] != targets[:-1]]) if len(targets) else np.empty(0, bool)
    starts = np.flatnonzero(is_first)
    slot_bounds = np.searchsorted(targets[starts], bases)
    degrees = np.bincount(sources, minlength=len(known))
    arrays = {
        "sources": sources,
        "starts": starts,
        "targets": (targets[starts] - np.repeat(bases[:-1], np.diff(slot_bounds))).astype(np.int32),
        "slot bounds": slot_bounds,
        "degrees": degrees,
        "by source": _sorted_by_source(sources, degrees),
    }
    if values is not None:
        arrays["values"] = values
    return TaskResult((writer.write(arrays),), len(sources))


def _numbers(ids: Ids, vertices: Sequence[Handle], bases: Array) -> Array:
    """Return the numbers of vertices, counted through all partitions."""
    order, bounds = _by_partition(ids, len(vertices))
    numbers = np.empty(len(ids), np.int64)
    for partition, handle in enumerate(vertices):
        here = order[bounds[partition] : bounds[partition + 1]]
        known = vertex_ids.from_arrays("ids", read(handle))
        numbers[here] = vertex_ids.find(vertex_ids.taken(ids, here), known) + bases[partition]
    return numbers


def _in_order(
    targets: Array, sources: Array, values: Array | None, num_vertices: int, num_sources: int
) -> tuple[Array, Array, Array | None]:
    """Return edges by target, then source, then value, so that the graph is the same for any order of input."""
    if num_vertices * num_sources >= 1 << 63:
        order = np.lexsort((sources, targets) if values is None else (values, sources, targets))
        return targets[order], sources[order], None if values is None else values[order]
    keys = targets * num_sources + sources
    if values is None:
        keys.sort()
        targets = keys // max(1, num_sources)
        return targets, (keys - targets * num_sources).astype(np.int32), None
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    if len(keys) and (keys[1:] == keys[:-1]).any():
        order = order[np.lexsort((values[order], keys))]
    return targets[order], sources[order], values[order]


def _sorted_by_source(sources: Array, degrees: Array) -> Array:
    order = np.empty(len(sources), np.int32 if len(sources) < 1 << 31 else np.int64)
    _count_sort(sources, np.cumsum(degrees) - degrees, order)
    return order


@compiled
def _count_sort(sources: Array, starts: Array, order: Array) -> None:
    """Sort the positions of edges by source. The positions of source i begin at `starts[i]`; `starts` is
    overwritten.
    """
    for place in range(len(sources)):
        source = sources[place]
        order[starts[source]] = place
        starts[source] += 1


def _edge_ends(name: str, dealt: Sequence[Mapping[str, Array]], partition: int) -> Ids:
    return vertex_ids.concat([_segment(name, one, "edge bounds", partition) for one in dealt])


def _segment(name: str, arrays: Mapping[str, Array], bounds: str, partition: int) -> Ids:
    first, last = arrays[bounds][partition : partition + 2]
    return vertex_ids.from_arrays(name, arrays).slice(first, last - first)


def _values(arrays: Mapping[str, Any], bounds: str, partition: int) -> Array:
    first, last = arrays[bounds][partition : partition + 2]
    values: Array = arrays[VALUE][first:last]
    return values
