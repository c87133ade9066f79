"""PageRank on a cluster that loses processes in the middle of a superstep."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sharkpy
from sharkpy.ml.graph.pregel import Graph, Messages, Outcome, VertexBlock, pregel
from tests.faults.cluster import KILLS, connect, executors

SUPERSTEPS, HIT, PARTITIONS = 9, 6, 4


def program(folder: Path) -> Callable[[VertexBlock, Messages, int], Outcome]:
    """Make a program of PageRank that notes its processes in `folder`, and takes its time in superstep HIT."""

    def rank(vertices: VertexBlock, messages: Messages, superstep: int) -> Outcome:
        (folder / f"{superstep}-{vertices.number}-{uuid.uuid4().hex}").touch()
        if superstep == HIT:
            time.sleep(0.4)
        ranks = 1 / vertices.num_vertices + 0.85 * messages.values
        return Outcome(ranks, ranks / np.maximum(vertices.degrees, 1), halt=False, aggregate={"ranks": ranks})

    return rank


def killed_in_a_superstep(folder: Path, seed: int) -> None:
    """Run supersteps on two executors, with each kind of process killed once."""
    generator = random.Random(seed)
    with connect(folder) as context:
        for event, kill in KILLS.items():
            (folder / event).mkdir()
            check_kill(context, folder / event, seed, lambda kill=kill: kill(context, generator))  # type: ignore[misc]
            while len(executors(context)) < 2:
                time.sleep(0.1)


def check_kill(context: sharkpy.SharkContext, folder: Path, seed: int, kill: Callable[[], object]) -> None:
    """Check that a kill costs only some tasks of one superstep; the answer is the same to the last bit."""
    drawn = np.random.default_rng(seed)
    edges = (drawn.integers(0, 5000, 30_000), drawn.integers(0, 5000, 30_000))
    happened: list[bool] = []
    results = {}
    for name, session in {"here": None, "killed": context}.items():
        graph = Graph.of(None, edges, partitions=PARTITIONS, session=session)
        (folder / name).mkdir()
        if name == "killed":
            threading.Thread(target=_strike, args=(folder / name, kill, happened), daemon=True).start()
        results[name] = pregel(None, graph, 0.0, program(folder / name), max_supersteps=SUPERSTEPS, checkpoint_every=4)
    assert happened == [True], f"seed {seed}"
    assert (results["killed"].values == results["here"].values).all(), f"seed {seed}"
    assert results["killed"].history == results["here"].history, f"seed {seed}"
    tasks = Counter(path.name.split("-")[0] for path in (folder / "killed").iterdir())
    others = {tasks[str(number)] for number in range(SUPERSTEPS) if number != HIT}
    assert others == {PARTITIONS}, f"seed {seed}: {tasks}"
    assert PARTITIONS <= tasks[str(HIT)] <= 2 * PARTITIONS, f"seed {seed}: {tasks}"


def _strike(folder: Path, kill: Callable[[], object], happened: list[bool]) -> None:
    """Kill once two tasks of the superstep have begun: there are two cores."""
    while len(list(folder.glob(f"{HIT}-*"))) < 2:
        time.sleep(0.02)
    happened.append(bool(kill()))
