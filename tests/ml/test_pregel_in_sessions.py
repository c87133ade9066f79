"""Pregel over tables and as tasks: the same bits as in this process, blocks freed with the result or lost."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base import settings
from sharkpy.base.errors import CorruptionError
from sharkpy.ml.graph.pregel import Graph, pregel
from sharkpy.ml.graph.workspace import RddWorkspace
from tests.ml.graph_programs import (
    SMALL,
    columns,
    dijkstra,
    distances_from,
    make_roads,
    random_edges,
    rank,
    shortest_paths,
)
from tests.waiting import until


@pytest.mark.variants(2)
def test_tables_names_and_table_rdds(context: sharkpy.SharkContext) -> None:
    make_roads(context)
    result = pregel("road_ends", "roads", np.inf, shortest_paths, "min", session=context, partitions=3)
    assert isinstance(result.graph.workspace, RddWorkspace) == (not context.conf.value(settings.DRIVER_PLACEMENT))
    assert result.values.tolist() == dijkstra(60, SMALL, 3)
    chosen = context.sql2rdd("SELECT s, t, length FROM roads WHERE length < 0.5")
    near = [edge for edge in SMALL if edge[2] < 0.5]
    result = pregel(context.sql2rdd("SELECT * FROM road_ends"), chosen, np.inf, shortest_paths, "min")
    assert result.values.tolist() == dijkstra(60, near, 3)
    found = result.to_table_rdd(value="distance")
    assert found.schema.names == ("vertex", "distance")
    assert sorted(tuple(row) for row in found.collect()) == list(enumerate(dijkstra(60, near, 3)))
    result.save_as_table("distances", value="distance", mode="overwrite")
    del result, found
    gc.collect()
    rows = context.sql("SELECT vertex, distance FROM distances WHERE vertex < 9 ORDER BY vertex").fetchall()
    assert [tuple(row) for row in rows] == list(enumerate(dijkstra(60, near, 3)))[:9]


@pytest.mark.spark
def test_tasks_give_the_same_bits_as_this_process(tasks: sharkpy.SharkContext) -> None:
    edges = columns(random_edges(3000, 20_000))[:2]
    here = pregel(None, edges, 0.0, rank, max_supersteps=8, partitions=5)
    there = pregel(None, edges, 0.0, rank, max_supersteps=8, partitions=5, session=tasks, checkpoint_every=3)
    assert (there.values == here.values).all()
    assert there.history == here.history
    names = [f"vertex {one}" for one in range(50)]
    ends = ([names[one % 50] for one in edges[0][:500]], [names[one % 50] for one in edges[1][:500]])
    text = [pregel(None, ends, 0.0, rank, max_supersteps=4, partitions=2, session=one) for one in (None, tasks)]
    assert text[0].to_arrow() == text[1].to_arrow()
    few = [
        pregel(
            np.arange(400),
            columns(random_edges(400, 900)),
            distances_from(5),
            shortest_paths,
            "min",
            session=one,
            partitions=3,
        )
        for one in (None, tasks)
    ]
    assert (few[0].values == few[1].values).all()


@pytest.mark.spark
def test_blocks_go_with_the_result(tasks: sharkpy.SharkContext) -> None:
    store = tasks.engine.store
    gc.collect()
    store.enforce_limit()
    before = store.usage().memory_bytes
    edges = columns(random_edges(300, 2000))[:2]
    result = pregel(None, edges, 0.0, rank, max_supersteps=12, session=tasks, partitions=3)
    store.enforce_limit()
    held = store.usage().memory_bytes
    assert before < held
    table = result.to_table_rdd()
    del result
    gc.collect()
    store.enforce_limit()
    assert table.count() == 300
    del table

    def is_free() -> bool:
        gc.collect()
        store.enforce_limit()
        return store.usage().memory_bytes <= before

    until(is_free)  # threads of the last job may hold it a moment longer


# Lost blocks


@pytest.mark.variants(2)
@pytest.mark.spark
@pytest.mark.parametrize("damage", ["gone", "flipped"])
def test_lost_blocks_are_made_again(tasks: sharkpy.SharkContext, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before superstep 5 all arrays in memory are lost: the graph, and the states since the checkpoint."""
    edges = columns(random_edges(500, 3000))[:2]
    expected = pregel(None, edges, 0.0, rank, max_supersteps=8, partitions=3)
    graph = Graph.of(None, edges, partitions=3, session=tasks)
    store, run, calls = tasks.engine.store, RddWorkspace.run, [0]

    def losing(self: RddWorkspace, function: object, numbers: object, argument: object, **how: object) -> object:
        calls[0] += 1
        if calls[0] == 6:
            lose(store.memory_dir, damage)
        return run(self, function, numbers, argument, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(RddWorkspace, "run", losing)
    result = pregel(None, graph, 0.0, rank, max_supersteps=8, checkpoint_every=3)
    assert calls[0] > 8
    assert (result.values == expected.values).all()
    assert result.history == expected.history


def lose(folder: str, damage: str) -> None:
    for path in Path(folder).glob("graph-*"):
        data = bytearray(path.read_bytes())
        path.unlink()
        if damage == "flipped":
            data[len(data) // 2] ^= 1
            path.write_bytes(data)


@pytest.mark.spark
def test_what_is_lost_with_its_copy_is_an_error(tasks: sharkpy.SharkContext) -> None:
    graph = Graph.of(None, columns(random_edges(50, 300))[:2], partitions=2, session=tasks)
    for handle in graph.edges:
        for path in (handle.memory_path, handle.durable_path):  # type: ignore[union-attr]
            Path(path).unlink()  # type: ignore[arg-type]
    with pytest.raises(CorruptionError, match="missing"):
        pregel(None, graph, 0.0, rank, max_supersteps=3)
