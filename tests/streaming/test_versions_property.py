"""Property of kept epochs: whatever epochs, folds and rollbacks came before, each version has the rows and the Hive
partitions of the query's answer over the input that it had read.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sharkpy
from sharkpy.base.errors import BindError
from tests.examples import examples
from tests.rows import rows
from tests.streaming.folder_input import put

KEPT = 4
KINDS = {
    "plain": "",
    "cached": "TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "PARTITIONED BY (s)",
    "text parts": "PARTITIONED BY (s) STORED AS TEXTFILE",
    "cached parts": "PARTITIONED BY (s) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
}
FILES = st.lists(st.text("abcdef", max_size=6), min_size=1, max_size=3)
"""Files that come before an epoch, each with a row for each of some Hive partitions."""
STEPS = st.lists(
    st.one_of(
        FILES,
        FILES,
        FILES,
        st.just("fold"),
        st.just("restart"),
        st.tuples(st.just("roll back"), st.integers(0, KEPT - 1)),
    ),
    min_size=4,
    max_size=25,
)
_NUMBERS = itertools.count()


@dataclass(slots=True)
class Model:
    """Rows of each file, and the number of files that each kept epoch had read."""

    files: list[list[tuple[object, ...]]] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)

    @property
    def newest(self) -> int:
        return max(self.kept, default=0)

    def rows(self, epoch: int) -> list[tuple[object, ...]]:
        return sorted(itertools.chain.from_iterable(self.files[: self.kept[epoch]]))

    def end_epoch(self) -> None:
        """All that is there is read by one epoch, if there is something new."""
        if self.files and self.kept.get(self.newest, 0) < len(self.files):
            self.kept[self.newest + 1] = len(self.files)
            self.kept = {epoch: num for epoch, num in self.kept.items() if epoch > self.newest - KEPT}


def session(warehouse: Path) -> sharkpy.SharkContext:
    few = {"shark.stream.kept.epochs": KEPT, "shark.compaction.min.blocks": 2}
    return sharkpy.connect("local[2]", warehouse, **few)


@pytest.mark.variants
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS)
def test_each_version_is_the_answer_over_its_prefix(tmp_path: Path, kind: str) -> None:
    context = session(tmp_path / "w")
    # The first query loads what raises the limit of recursion, which may not change in an example.
    assert rows(context, "SELECT 1") == [(1,)]

    @settings(max_examples=examples(30), deadline=None)
    @given(STEPS)
    def check(steps: list[list[str] | str | tuple[str, int]]) -> None:
        nonlocal context
        number = next(_NUMBERS)
        folder, model = tmp_path / f"in{number}", Model()
        folder.mkdir()
        context.sql(f"CREATE STREAM i{number} (n BIGINT, s STRING) STORED AS JSONFILE FROM FOLDER '{folder}'")
        query = f"TRIGGER AVAILABLE NOW AS SELECT n * 2 AS n, s FROM i{number}"
        context.sql(f"CREATE CONTINUOUS TABLE t{number} {KINDS[kind]} {query}")
        for step in steps:
            if step == "fold":
                context.table_cache.settle()
            elif step == "restart":
                context.stop()
                context = session(tmp_path / "w")
            elif isinstance(step, tuple):
                if step[1] < len(model.kept):
                    to = sorted(model.kept)[step[1]]
                    context.sql(f"ROLLBACK CONTINUOUS TABLE t{number} TO EPOCH {to}")
                    model.kept = {to: model.kept[to]}
            else:
                for parts in step:
                    at = len(model.files)
                    put(folder, f"{at:03}.json", [{"n": at, "s": part} for part in parts])
                    model.files.append([(2 * at, part) for part in parts])
                context.sql(f"RESUME CONTINUOUS TABLE t{number}")
                model.end_epoch()
            compare(context, f"t{number}", model, is_partitioned="parts" in kind)
        context.sql(f"DROP CONTINUOUS TABLE t{number}")
        context.sql(f"DROP STREAM i{number}")

    try:
        check()
    finally:
        context.stop()


def compare(context: sharkpy.SharkContext, name: str, model: Model, *, is_partitioned: bool) -> None:
    if not model.kept:
        assert rows(context, f"SELECT n, s FROM {name}") == []
        return
    for epoch in model.kept:
        expected = model.rows(epoch)
        assert sorted(rows(context, f"SELECT n, s FROM {name} VERSION AS OF {epoch}")) == expected
    newest = model.rows(model.newest)
    assert sorted(rows(context, f"SELECT n, s FROM {name}")) == newest
    if is_partitioned:
        named = [row[0] for row in rows(context, f"SHOW PARTITIONS {name}")]
        assert named == sorted({f"s={part}" for _, part in newest})
    with pytest.raises(BindError, match="is not available"):
        rows(context, f"SELECT n FROM {name} VERSION AS OF {min(model.kept) - 1}")
