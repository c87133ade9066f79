"""Processes killed while they fold a state: it has the earlier files, or the files into which they were folded."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import sharkpy
from tests.children import status_of
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import make_stream, put_numbers

CHILD = """
import os, signal, sys, sharkpy
from sharkpy.columnar.version import VersionStore
from sharkpy.execution.tables.staged_blocks import FoldedBlocks
from sharkpy.execution.tables.hidden_files import HiddenFiles
from sharkpy.execution.tables.versions import TableVersions
from sharkpy.sources.folders.logged_folder import LoggedFolder

warehouse, step = sys.argv[1:]
steps = {
    "made": (FoldedBlocks, "make"),
    "placed": (LoggedFolder, "place_fold"),
    "listed": (VersionStore, "publish"),
    "swapped": (TableVersions, "publish_read"),
    "published": (FoldedBlocks, "publish"),
    "deleted": (HiddenFiles, "note"),
}
owner, name = steps[step]
done, enter, folds = getattr(owner, name), FoldedBlocks.__enter__, []

def entered(blocks):
    folds.append(blocks)
    return enter(blocks)

def killed(*arguments, **named):
    found = done(*arguments, **named)
    if folds:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

FoldedBlocks.__enter__ = entered
setattr(owner, name, killed)
few = {"shark.stream.kept.epochs": 1, "shark.compaction.min.blocks": 3}
with sharkpy.connect("local[2]", warehouse, **few) as context:
    context.sql("RESUME CONTINUOUS TABLE t")
"""
GROUPED = "SELECT n % 2 AS k, count(*) AS c FROM numbers GROUP BY n % 2"
JOINED = "SELECT x.n, y.s FROM numbers x JOIN numbers y ON x.n = y.n + 5"
AFTER_THREE = {GROUPED: [(0, 2), (1, 1)], JOINED: []}
"""Rows after the epochs before the first fold."""
AFTER_TEN = {GROUPED: [(0, 5), (1, 5)], JOINED: [(n, f"s{n - 5}") for n in range(5, 10)]}
STEPS = [
    *((JOINED, MEMORY, step) for step in ("made", "placed", "listed", "swapped", "published", "deleted")),
    *((GROUPED, MEMORY, step) for step in ("placed", "published")),
    *((JOINED, "", step) for step in ("placed", "deleted")),
]


@pytest.mark.variants(6)
@pytest.mark.parametrize(("query", "clauses", "step"), STEPS)
def test_killed_between_two_steps(tmp_path: Path, query: str, clauses: str, step: str) -> None:
    few = {"shark.stream.kept.epochs": 1, "shark.compaction.min.blocks": 3}
    warehouse, folder = tmp_path / "w", tmp_path / "in"
    with sharkpy.connect("local[2]", warehouse, **few) as context:
        make_stream(context, folder, "('max.files.per.epoch' = '1')")
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} WITH UNBOUNDED STATE AS {query}")
    for number in range(10):
        put_numbers(folder, f"{number:03}.json", [number])
    assert status_of(CHILD, warehouse, step) == -signal.SIGKILL
    with sharkpy.connect("local[2]", warehouse, **few) as context:
        assert sorted(rows(context, "SELECT * FROM t")) == AFTER_THREE[query]
        state = context.catalog.state_table(context.catalog.table("default", "t"))
        assert state is not None
        assert not paths_below(Path(state.location or ""), ".staging*")
        context.sql("RESUME CONTINUOUS TABLE t")
        assert sorted(rows(context, "SELECT * FROM t")) == AFTER_TEN[query]
    with sharkpy.connect("local[2]", warehouse, **few) as context:
        assert sorted(rows(context, "SELECT * FROM t")) == AFTER_TEN[query]
