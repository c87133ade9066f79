"""Vertex programs as users write them, and their expected results, by other means."""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sharkpy
from sharkpy.ml.graph.pregel import Messages, Outcome, VertexBlock

Array = npt.NDArray[Any]
Edges = list[tuple[int, int, float]]


def least_label(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    """Connected components: each vertex takes the least id that reaches it, and passes it on."""
    labels = np.minimum(vertices.values, messages.values) if superstep else vertices.ids
    is_new = labels < vertices.values if superstep else np.ones(len(vertices), bool)
    return Outcome(labels, send=labels, where=is_new)


def shortest_paths(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    """Distances from the vertices whose first value is 0; other vertices begin at infinity."""
    nearer = np.minimum(vertices.values, messages.values)
    is_new = nearer < vertices.values if superstep else np.isfinite(nearer)
    return Outcome(nearer, send=nearer, where=is_new, along=np.add)


def rank(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    """PageRank as in the Pregel paper, with the ranks of dangling vertices spread evenly."""
    count = vertices.num_vertices
    ranks = np.full(len(vertices), 1 / count)
    if superstep:
        ranks = 0.15 / count + 0.85 * (messages.values + vertices.aggregates["dangling"] / count)
    degrees = vertices.degrees
    return Outcome(
        ranks,
        send=ranks / np.maximum(degrees, 1),
        halt=False,
        aggregate={"dangling": np.where(degrees == 0, ranks, 0), "largest": ranks, "change": ranks - vertices.values},
    )


def add_received(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
    """Send each vertex's value once, and add the received ones."""
    return Outcome(
        vertices.values + np.where(messages.received, messages.values, 0), vertices.values if superstep == 0 else None
    )


def components(num_vertices: int, edges: Edges) -> list[int]:
    """Least vertex of each vertex's component."""
    label = list(range(num_vertices))
    changed = True
    while changed:
        changed = False
        for source, target, _ in edges:
            least = min(label[source], label[target])
            changed |= label[source] != least or label[target] != least
            label[source] = label[target] = least
    return label


def dijkstra(num_vertices: int, edges: Edges, start: int) -> list[float]:
    """Distances by Dijkstra (A note on two problems in connexion with graphs, 1959)."""
    leaving = defaultdict(list)
    for source, target, length in edges:
        leaving[source].append((target, length))
    distance = [float("inf")] * num_vertices
    distance[start] = 0.0
    queue = [(0.0, start)]
    while queue:
        reached, vertex = heapq.heappop(queue)
        for target, length in leaving[vertex]:
            if reached + length < distance[target]:
                distance[target] = reached + length
                heapq.heappush(queue, (distance[target], target))
    return distance


def dense_ranks(num_vertices: int, edges: Edges, share: Array | None = None, damping: float = 0.85) -> Array:
    """PageRank as the solution of the linear equations."""
    matrix = np.zeros((num_vertices, num_vertices))
    for source, target, weight in edges:
        matrix[source, target] += weight
    share = np.full(num_vertices, 1.0) if share is None else share
    share = share / share.sum()
    leaving = matrix.sum(axis=1, keepdims=True)
    steps = np.where(leaving > 0, matrix / np.where(leaving == 0, 1, leaving), share)
    return np.linalg.solve(np.eye(num_vertices) - damping * steps.T, (1 - damping) * share)


def columns(edges: Edges) -> tuple[Array, Array, Array]:
    source, target, value = zip(*edges, strict=True) if edges else ((), (), ())
    return np.array(source, np.int64), np.array(target, np.int64), np.array(value, float)


def random_edges(num_vertices: int, num_edges: int, seed: int = 5) -> Edges:
    """Random edges, including loops and repeated ones; the upper half of the vertices has none that leave."""
    generator = np.random.default_rng(seed)
    sources = generator.integers(0, max(1, num_vertices // 2), num_edges).tolist()
    targets = generator.integers(0, num_vertices, num_edges).tolist()
    return list(zip(sources, targets, generator.random(num_edges).tolist(), strict=True))


def distances_from(start: int):
    return lambda vertices: np.where(vertices.ids == start, 0.0, np.inf)


SMALL = random_edges(60, 150)


def make_roads(context: sharkpy.SharkContext) -> None:
    source, target, value = columns(SMALL)
    context.save_as_table(pa.table({"s": source, "t": target, "length": value}), "roads", mode="overwrite")
    starts = pa.table({"v": np.arange(60), "d": np.where(np.arange(60) == 3, 0.0, np.inf)})
    context.save_as_table(starts, "road_ends", mode="overwrite")
