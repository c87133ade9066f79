"""Pregel (Malewicz et al.: Pregel, a system for large-scale graph processing, 2010) for whole partitions at a time.

Vertices compute in supersteps: in each, a vertex reads the messages that were sent to it in the one before, sets its
value, and sends messages along the edges that begin at it. It may vote to halt, until a message wakes it. The program
ends when all vertices have halted and no message is on its way. Here the program computes all vertices of a partition
at once, with NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ParameterError
from sharkpy.ml.graph.combiners import CombineFunction, combiner
from sharkpy.ml.graph.graph import Graph
from sharkpy.ml.graph.pregel_result import PregelResult
from sharkpy.ml.graph.program import Messages, Outcome, OutEdges, VertexBlock, VertexProgram
from sharkpy.ml.graph.superstep import AGGREGATORS, PartitionState, Superstep
from sharkpy.ml.graph.superstep_lineage import SuperstepLineage
from sharkpy.ml.graph.user_code import UserCode
from sharkpy.ml.graph.workspace import TaskResult
from sharkpy.ml.models.parameters import check_parameters, integer_at_least

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
