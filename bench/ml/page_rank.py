"""PageRank, 1 M vertices and 10 M edges of a cached table. An iteration is compared with one of the same program on
plain PySpark RDDs, whose edges are grouped, partitioned as the ranks are, and kept in memory.
"""

from __future__ import annotations

import operator
import statistics
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.engines import CORES
from bench.figure import Figure, comparison
from bench.ml import data
from bench.ml.sides import (
    LEAST_FASTER,
    Side,
    cached_table,
    farthest,
    peaks,
    run_side,
    seconds_an_iteration,
    session,
    spark_session,
)

DAMPING = 0.85
FEW, MANY = 2, 7
ITERATIONS = 2
"""Iterations of the plain program, which takes long."""
MOST_OFF = 1e-9
_SMALL_VERTICES, _SMALL_EDGES = 1_000, 8_000


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    ours, plain = (run_side("page_rank", side, runs, scale) for side in SIDES)
    aims = (f"at least {LEAST_FASTER:g} times faster", plain["iteration"] >= LEAST_FASTER * ours["iteration"])
    iteration = {"plain RDDs": plain["iteration"] * 1000}
    return [
        comparison("an iteration of PageRank", "ms", ours["iteration"] * 1000, iteration, *aims, is_key=True),
        comparison("from the table to a graph", "s", ours["graph"], {"plain RDDs": plain["graph"]}),
        comparison("an iteration of PageRank as RDD tasks", "ms", ours["as_tasks"] * 1000, iteration),
        Figure(
            f"ranks: off a dense solution, {_SMALL_VERTICES:,} vertices",
            f"{ours['off']:.1e}",
            f"at most {MOST_OFF:g}",
            ours["off"] <= MOST_OFF,
        ),
        peaks(ours, {"plain RDDs": plain}),
    ]


def _ours(runs: int, scale: float) -> dict[str, Any]:
    from sharkpy.ml import PageRank
    from sharkpy.ml.graph.graph import Graph

    warnings.simplefilter("ignore")
    with session() as context:
        cached_table(context, "edges", data.graph(scale), "source bigint, target bigint")
        start = time.perf_counter()
        graph = Graph.of(None, "edges", session=context)
        made = time.perf_counter() - start

        def fit(iterations: int) -> int:
            return int(PageRank(DAMPING, tol=1e-300, max_iter=iterations).fit(graph).n_iter_)

        iteration = seconds_an_iteration(fit, FEW, MANY, runs)
        del graph
        context.sql("SET shark.placement.driver=false").close()
        graph = Graph.of(None, "edges", session=context)
        as_tasks = seconds_an_iteration(fit, FEW, MANY, 1)
        return {"iteration": iteration, "as_tasks": as_tasks, "graph": made, "off": _off_dense(context)}


def _off_dense(context: Any) -> float:
    """Largest difference to ranks by linear algebra, of a small graph in which some vertices have no edges."""
    from sharkpy.ml import PageRank

    rng = np.random.default_rng(data.SEED)
    source = rng.integers(0, _SMALL_VERTICES * 9 // 10, _SMALL_EDGES)
    target = rng.integers(0, _SMALL_VERTICES, _SMALL_EDGES)
    context.save_as_table(np.column_stack([source, target]), "small_edges", ["source", "target"])
    found = PageRank(DAMPING, tol=1e-12).fit("small_edges", session=context)
    ids, places = np.unique(np.concatenate([source, target]), return_inverse=True)
    walk = np.zeros((len(ids), len(ids)))
    np.add.at(walk, (places[_SMALL_EDGES:], places[:_SMALL_EDGES]), 1.0)
    degrees = walk.sum(axis=0)
    walk = np.where(degrees > 0, walk / np.where(degrees > 0, degrees, 1.0), 1.0 / len(ids))
    ranks = np.linalg.solve(np.eye(len(ids)) - DAMPING * walk, np.full(len(ids), (1 - DAMPING) / len(ids)))
    if not np.array_equal(found.vertices_, ids):
        raise AssertionError("the vertices differ")
    return farthest(found.ranks_, ranks)


def _plain(runs: int, scale: float) -> dict[str, Any]:
    """Program of the RDD paper (Zaharia et al., 2012), with links grouped by their source."""
    del runs
    spark = spark_session()
    parts, count = 2 * CORES, data.num_vertices(scale)
    start = time.perf_counter()
    edges = spark.read.parquet(str(data.graph(scale))).rdd.map(tuple)
    links = edges.groupByKey(parts).mapValues(list).persist()
    links.count()
    made = time.perf_counter() - start
    ranks = links.mapValues(lambda _: 1.0 / count)
    taken = []
    for _ in range(ITERATIONS):
        shares = links.join(ranks, parts).flatMap(_shares)
        ranks = shares.reduceByKey(operator.add, parts).mapValues(lambda found: (1 - DAMPING) / count + DAMPING * found)
        ranks.persist()
        start = time.perf_counter()
        ranks.count()
        taken.append(time.perf_counter() - start)
    return {"iteration": statistics.median(taken), "graph": made}


def _shares(vertex: tuple[int, tuple[list[int], float]]) -> Iterator[tuple[int, float]]:
    _, (targets, rank) = vertex
    share = rank / len(targets)
    return ((target, share) for target in targets)


SIDES: dict[str, Side] = {"sharkpy": _ours, "plain RDDs": _plain}
