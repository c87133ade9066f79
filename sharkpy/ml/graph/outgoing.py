"""Messages that a partition sends in a superstep along its edges, combined for each target."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sharkpy.base.errors import DataError
from sharkpy.ml.graph.combiners import Combiner
from sharkpy.ml.graph.program import AlongEdges, Mask

Array: TypeAlias = npt.NDArray[Any]
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
    send: Array, senders: Mask, along: AlongEdges | None, edges: Mapping[str, Array], combiner: Combiner
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
