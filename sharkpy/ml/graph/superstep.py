"""Task of a superstep: one partition computes, and combines its messages along its edges for each target."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError, TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.ml.graph import vertex_ids
from sharkpy.ml.graph.combiners import Combiner, combiner
from sharkpy.ml.graph.vertex_program import (
    AlongEdges,
    Mask,
    Messages,
    Outcome,
    OutEdges,
    UserCode,
    VertexBlock,
    wrapping_errors,
)
from sharkpy.ml.graph.workspace import ArrayWriter, Handle, TaskResult, read

Array: TypeAlias = npt.NDArray[Any]
AGGREGATORS: Mapping[str, np.ufunc] = MappingProxyType({"sum": np.add, "min": np.minimum, "max": np.maximum})


@dataclass(frozen=True, slots=True)
class PartitionState:
    """State of a partition after a superstep. Arrays of `handle`: `values`, `halted`, and if it sent anything
    `messages`, with their `slots` unless these are all slots of its edges.
    """

    handle: Handle
    num_awake: int
    """Number of vertices that have not halted."""
    sent_to: tuple[int, ...] = ()
    """Number of combined messages by partition; empty if there are none."""
    message_type: str = ""

    def without_messages(self) -> PartitionState:
        return PartitionState(self.handle, self.num_awake)


@dataclass(frozen=True, slots=True)
class Superstep:
    """Data of a superstep that all its tasks share."""

    number: int
    vertices: tuple[Handle, ...]
    edges: tuple[Handle, ...]
    num_vertices: int
    initial: Any
    """Value for all vertices, or the UserCode of a function from a VertexBlock to values."""
    program: UserCode
    combine: str | UserCode
    aggregators: Mapping[str, str]
    aggregates: Mapping[str, Any]
    states: tuple[PartitionState, ...]
    """States after the previous superstep; empty in the first one."""

    @property
    def combiner(self) -> Combiner:
        return combiner(self.combine if isinstance(self.combine, str) else self.combine.load())


def run_superstep(partition: int, writer: ArrayWriter, step: Superstep) -> TaskResult:
    """Compute one partition. The result's value is its PartitionState and the aggregates of its active vertices."""
    vertices, edges = read(step.vertices[partition]), read(step.edges[partition])
    ids, degrees = vertex_ids.from_arrays("ids", vertices), edges["degrees"]
    out_edges = OutEdges(edges["sources"], edges.get("values"))
    if step.states:
        state = read(step.states[partition].handle)
        values, halted = state["values"], state["halted"]
    else:
        values, halted = _initial(partition, step, vertices, out_edges, degrees), np.zeros(len(ids), bool)
    messages = _incoming(partition, step, values)
    active = ~halted | messages.received
    block = VertexBlock(
        partition,
        ids,
        values,
        degrees,
        active,
        step.num_vertices,
        step.aggregates,
        out_edges,
    )
    if active.any():
        with wrapping_errors(f"superstep {step.number} of partition {partition}"):
            outcome = step.program.load()(block, messages, step.number)
            _check(outcome, block, step.program.name)
            halts = active & outcome.halt
            sent = _outgoing(outcome, block, edges, step.combiner)
    else:
        outcome, halts, sent = Outcome(), active, None
    values = _new_values(outcome, block)
    halted = np.where(active, halts, halted)
    arrays = {"values": values, "halted": halted}
    sent_to: tuple[int, ...] = ()
    message_type = ""
    if sent is not None:
        arrays["messages"] = sent.messages
        if sent.slots is not None:
            arrays["slots"] = sent.slots
        sent_to = _counts(sent, edges["slot bounds"])
        message_type = sent.messages.dtype.str
    handle = writer.write(arrays)
    num_awake = len(halted) - int(np.count_nonzero(halted))
    return TaskResult(
        (handle,),
        (PartitionState(handle, num_awake, sent_to, message_type), _aggregates(step.aggregators, outcome, active)),
    )


def _initial(partition: int, step: Superstep, vertices: Mapping[str, Array], edges: OutEdges, degrees: Array) -> Array:
    """Return the initial values. A function gets the listed values and returns all. Else a listed vertex has its listed
    value, and any other vertex the given value.
    """
    count = len(degrees)
    listed, is_listed = vertices.get("values"), vertices.get("is listed", np.zeros(count, bool))
    if isinstance(step.initial, UserCode):
        ids = vertex_ids.from_arrays("ids", vertices)
        values = np.zeros(count) if listed is None else listed
        block = VertexBlock(partition, ids, values, degrees, is_listed, step.num_vertices, {}, edges)
        with wrapping_errors(f"the initial values of partition {partition}"):
            found = np.asarray(step.initial.load()(block))
        if found.shape != (count,) or found.dtype.hasobject:
            fact = f"values of {found.dtype} of shape {found.shape}"
            raise DataError(f'the function "{step.initial.name}" made {fact} for {count} vertices')
        return found
    given = np.full(count, step.initial)
    if given.dtype.hasobject or given.dtype.kind in "US":
        raise TypeMismatchError(f"initial is neither a number nor a record of numbers: {step.initial!r}")
    if listed is None:
        return given
    if listed.dtype.names != given.dtype.names:
        raise TypeMismatchError(f"vertices are listed with values of {listed.dtype}, and initial is {step.initial!r}")
    return np.where(is_listed, listed, given)


def _incoming(partition: int, step: Superstep, values: Array) -> Messages:
    """Return the messages to this partition from the previous superstep, combined in the order of partitions.

    If nothing was sent, they have the type of vertices' values, or double.
    """
    num_here = len(values)
    senders = [
        (read(step.edges[number]), read(state.handle))
        for number, state in enumerate(step.states)
        if state.sent_to and state.sent_to[partition]
    ]
    types = [np.dtype(state.message_type) for state in step.states if state.message_type]
    unsent = np.dtype(np.float64) if values.dtype.fields is not None else values.dtype
    dtype = np.result_type(*types) if types else unsent
    combiner = step.combiner
    combined, received = np.full(num_here, combiner.neutral(dtype), dtype), np.zeros(num_here, bool)
    for edges, state in senders:
        first, last = edges["slot bounds"][partition : partition + 2]
        if "slots" in state:
            slots = state["slots"]
            start, end = np.searchsorted(slots, [first, last])
            places, arrived = edges["targets"][slots[start:end]], state["messages"][start:end]
        else:
            places, arrived = edges["targets"][first:last], state["messages"][first:last]
        combiner.combine_arrived(combined, received, places, arrived)
    return Messages(combined, received)


def _check(outcome: Outcome, block: VertexBlock, name: str) -> None:
    """Raise DataError if an array has not one element per vertex, or a value does not fit the type of values."""
    if not isinstance(outcome, Outcome):
        raise DataError(f'the function "{name}" returned {type(outcome).__name__}, not Outcome')
    arrays = {key: getattr(outcome, key) for key in ("values", "send", "where", "halt")} | {**outcome.aggregate}
    for key, array in arrays.items():
        shape = np.shape(array)
        if array is not None and not isinstance(array, bool | np.bool_) and shape != (len(block),):
            raise DataError(f'the function "{name}" returned "{key}" of shape {shape} for {len(block)} vertices')
    if outcome.send is not None and np.asarray(outcome.send).dtype.kind not in "biuf":
        raise DataError(f'the function "{name}" sends {np.asarray(outcome.send).dtype}; messages are numbers')
    if outcome.values is None:
        return
    found, had = np.asarray(outcome.values).dtype, block.values.dtype
    if not np.can_cast(found, had, "same_kind"):
        raise DataError(
            f'the function "{name}" returned values of {found}; vertices have {had}',
            hint="give initial values of the wider type",
        )


def _new_values(outcome: Outcome, block: VertexBlock) -> Array:
    if outcome.values is None:
        return block.values
    values = np.asarray(outcome.values, block.values.dtype)
    return values if block.active.all() else np.where(block.active, values, block.values)


def _outgoing(outcome: Outcome, block: VertexBlock, edges: Mapping[str, Array], combiner: Combiner) -> Outgoing | None:
    if outcome.send is None:
        return None
    senders: Mask = block.active if outcome.where is None else block.active & outcome.where
    return outgoing(np.asarray(outcome.send), senders, outcome.along, edges, combiner)


def _counts(sent: Outgoing, slot_bounds: Array) -> tuple[int, ...]:
    places = slot_bounds if sent.slots is None else np.searchsorted(sent.slots, slot_bounds)
    return tuple(np.diff(places).tolist())


def _aggregates(aggregators: Mapping[str, str], outcome: Outcome, active: Mask) -> dict[str, Any]:
    if not active.any():
        return {}
    return {
        name: AGGREGATORS[aggregators.get(name, "sum")].reduce(np.asarray(array)[active])
        for name, array in outcome.aggregate.items()
    }


_CHUNK_EDGES = 1 << 17
"""Number of edges whose messages are made at a time, so that they stay in the processor's cache until they are
combined.
"""
_FEW = 4
"""If fewer than one edge in `_FEW` has a message, edges are looked up by their sources."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Combined messages, one per slot: for `slots`, ascending, or for all slots if it is None."""

    messages: Array
    slots: Array | None


def outgoing(
    send: Array,
    senders: Mask,
    along: AlongEdges | None,
    edges: Mapping[str, Array],
    combiner: Combiner,
) -> Outgoing | None:
    """Return the messages of the edges that begin at `senders`, or None if there is no such edge."""
    degrees, sources = edges["degrees"], edges["sources"]
    num_carrying = int(degrees[senders].sum())
    if num_carrying == 0:
        return None
    if along is not None and "values" not in edges:
        raise DataError("messages are made along edges, but the edges have no values", hint="give a column of values")
    send = send.astype(combiner.message_type(send.dtype), copy=False)
    if num_carrying == len(sources):
        if along is None:
            return Outgoing(combiner.combine_sent(send, sources, edges["starts"]), None)
        return Outgoing(_along_all(send, along, edges, combiner), None)
    if num_carrying * _FEW < len(sources):
        carrying = _of_sources(senders, degrees, edges["by source"])
        slots, starts = _runs(np.searchsorted(edges["starts"], carrying, side="right") - 1)
    else:
        is_carrying = senders[sources]
        carrying = np.flatnonzero(is_carrying)
        before = np.concatenate([[0], np.cumsum(is_carrying)])
        counts = np.diff(before[edges["starts"]], append=num_carrying)
        slots = np.flatnonzero(counts)
        starts = np.cumsum(counts[slots]) - counts[slots]
    if along is None:
        messages = combiner.combine_sent(send, sources[carrying], starts)
    else:
        made = _messages(send, sources[carrying], along, edges["values"][carrying])
        messages = combiner.combine_runs(made, starts)
    return Outgoing(messages, None if len(slots) == len(edges["starts"]) else slots)


def _along_all(send: Array, along: AlongEdges, edges: Mapping[str, Array], combiner: Combiner) -> Array:
    sources, values, starts = edges["sources"], edges["values"], edges["starts"]
    cuts = np.unique_values(np.searchsorted(starts, np.arange(0, len(sources), _CHUNK_EDGES)))
    cuts = np.append(np.sort(cuts[cuts < len(starts)]), len(starts))
    parts = []
    for first, last in itertools.pairwise(cuts):
        start, end = starts[first], starts[last] if last < len(starts) else len(sources)
        made = _messages(send, sources[start:end], along, values[start:end])
        parts.append(combiner.combine_runs(made, starts[first:last] - start))
    return np.concatenate(parts)


def _messages(send: Array, sources: Array, along: AlongEdges, values: Array) -> Array:
    sent = send.take(sources)
    messages = np.asarray(along(sent, values))
    if messages.shape != sent.shape:
        raise DataError(f'"along" made messages of shape {messages.shape} for {len(sent)} edges')
    return messages


def _of_sources(senders: Mask, degrees: Array, by_source: Array) -> Array:
    """Return the edges that begin at `senders`, ascending."""
    ends = np.cumsum(degrees)
    sending = np.flatnonzero(senders & (degrees > 0))
    counts = degrees[sending]
    firsts = ends[sending] - counts
    places = np.arange(counts.sum()) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)
    return np.sort(by_source[places])


def _runs(slots: Array) -> tuple[Array, Array]:
    """Return the distinct values of ascending slots, and the start of each run."""
    starts = np.flatnonzero(np.concatenate([[True], slots[1:] != slots[:-1]]))
    return slots[starts], starts
