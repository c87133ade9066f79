"""Features of queries as blocks of the store: the arrays are the table's columns, for any place of blocks and
readers.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import (
    AmbiguousColumnError,
    CancelledError,
    ColumnNotFoundError,
    CorruptionError,
    DataError,
    ExecutionError,
    SharkError,
    TableNotFoundError,
    TypeMismatchError,
)
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.ml.features.feature_blocks import FeatureBlock
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.stored_blocks import StoredBlocks
from sharkpy.ml.features.training_data import training_blocks
from sharkpy.plan.logical import LogicalPlan
from tests.waiting import allowed, when

ROWS = 3500
MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY')"


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    make_points(context)
    return context


def make_points(context: sharkpy.SharkContext) -> None:
    numbers = f"(SELECT explode(sequence(1, {ROWS})) AS id) q"
    context.sql(
        f"CREATE TABLE IF NOT EXISTS points {MEMORY} AS SELECT CAST(id AS INT) AS i, sin(id) AS d,"
        f" CAST(id / 7 AS FLOAT) AS f, id % 2 = 0 AS b, CAST(id % 100 AS DECIMAL(9,2)) / 8 AS m,"
        f" concat('k', id % 3) AS s, CAST(id % 5 AS TINYINT) AS y, CASE WHEN id % 10 = 0 THEN NULL ELSE id END AS n,"
        f" CASE WHEN id = 77 THEN CAST('NaN' AS DOUBLE) ELSE CAST(id AS DOUBLE) END AS x FROM {numbers}"
    )


def arrays(block: FeatureBlock, argument: object) -> tuple[int, np.ndarray, np.ndarray | None]:
    assert argument is None
    assert block.X.strides[0] == block.X.itemsize
    assert not block.X.flags.writeable
    return block.number, np.array(block.X), None if block.y is None else np.array(block.y)


def stored(context: sharkpy.SharkContext, text: str, *arguments: object) -> StoredBlocks:
    plan = bind_text(context, text)
    assert isinstance(plan, LogicalPlan)
    return StoredBlocks(context, feature_plan(plan, *arguments))  # type: ignore[arg-type]


def whole(blocks: StoredBlocks) -> tuple[np.ndarray, np.ndarray | None]:
    found = blocks.run(arrays)
    assert [number for number, _, _ in found] == list(range(len(found)))
    labels = np.concatenate([y for _, _, y in found]) if blocks.has_label else None
    return np.concatenate([X for _, X, _ in found]), labels


def columns(context: sharkpy.SharkContext, text: str) -> np.ndarray:
    rows = context.sql(text).fetchall()
    return np.array([[np.nan if value is None else float(value) for value in row] for row in rows])


@pytest.mark.variants(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT d, f, y FROM points",
        "SELECT i, d, b, m, f, y FROM points",
        "SELECT d * 2 AS d2, i, y FROM points WHERE i % 3 = 1",
        "SELECT p.d, q.f, p.y FROM points p JOIN points q ON p.i = q.i",
    ],
    ids=["columns", "types", "filter", "join"],
)
def test_arrays_are_the_columns(context: sharkpy.SharkContext, query: str, dtype: str) -> None:
    blocks = stored(context, query, None, "y", dtype)
    X, y = whole(blocks)
    assert y is not None
    assert X.dtype == y.dtype == np.dtype(dtype) == blocks.dtype
    expected = columns(context, query).astype(dtype)
    found = np.column_stack([X, y])
    order = [np.lexsort(rows.T) for rows in (found, expected)]
    np.testing.assert_array_equal(found[order[0]], expected[order[1]])
    assert blocks.num_rows == len(X)


def test_blocks_of_a_scan_are_in_the_order_of_the_table(driver: sharkpy.SharkContext) -> None:
    make_points(driver)
    for query in ("SELECT i, d FROM points", "SELECT i, d FROM points WHERE i > 0"):
        X, _ = whole(stored(driver, query))
        assert X[:, 0].tolist() == list(range(1, ROWS + 1))


@pytest.mark.spark
@pytest.mark.parametrize("query", ["SELECT d, f FROM points", "SELECT d, i FROM points WHERE b"])
def test_blocks_do_not_depend_on_tasks(tasks: sharkpy.SharkContext, query: str) -> None:
    make_points(tasks)
    found = []
    for settings in ({}, {"shark.placement.driver": "true"}):
        blocks = stored(tasks.with_settings(settings), query)
        assert blocks.is_in_driver == bool(settings)
        found.append([(number, X.tobytes()) for number, X, _ in blocks.run(arrays)])
    assert len(found[0]) > 2
    assert found[0] == found[1]


def test_features_default_to_all_numbers_but_the_label(context: sharkpy.SharkContext) -> None:
    assert stored(context, "SELECT s, i, b, m, y FROM points", None, "Y").names == ("i", "b", "m")
    blocks = training_blocks("points", "y", features=["D", "i"], session=context)
    assert blocks.names == ("d", "i")
    assert blocks.has_label
    assert training_blocks("default.points", features=["d"], session=context).num_rows == ROWS


@pytest.mark.variants(2)
def test_missing_values(context: sharkpy.SharkContext) -> None:
    X, y = whole(stored(context, "SELECT n, x, y FROM points", None, "y", None, "drop"))
    assert y is not None
    expected = [i for i in range(1, ROWS + 1) if i % 10 and i != 77]
    assert sorted(X[:, 0].tolist()) == sorted(X[:, 1].tolist()) == expected
    X, _ = whole(stored(context, "SELECT i, n, x, y FROM points", None, "y", None, "mean"))
    X = X[np.argsort(X[:, 0])]
    kept = np.array([i for i in range(1, ROWS + 1) if i % 10])
    np.testing.assert_allclose(X[9::10, 1], kept.mean(), rtol=1e-14)
    np.testing.assert_allclose(X[76, 2], (ROWS * (ROWS + 1) / 2 - 77) / (ROWS - 1), rtol=1e-14)
    np.testing.assert_array_equal(X[kept - 1, 1], kept)
    X, _ = whole(stored(context, "SELECT i, n FROM points", ["i"], "n", None, "drop"))
    assert len(X) == len(kept)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "arguments", "error", "text"),
    [
        ("SELECT n, y FROM points", (), DataError, 'column "n" has 350 missing values'),
        ("SELECT i, x FROM points", (), DataError, 'column "x" has 1 missing value'),
        ("SELECT i, n FROM points", (None, "n"), DataError, 'label "n" has 350 missing values'),
        ("SELECT i, n FROM points", (None, "n", None, "mean"), DataError, 'label "n" has 350 missing values'),
        ("SELECT i, 1 / CAST(0 AS DOUBLE) AS z FROM points", (["z"],), DataError, 'column "z" has 3,500'),
        ("SELECT s FROM points", (), DataError, "a table without numeric columns"),
        ("SELECT s, y FROM points", (None, "y"), DataError, "without numeric columns other than the label"),
        (
            "SELECT i, s FROM points",
            (["i", "s"],),
            TypeMismatchError,
            'column "s" is not numeric: string; OneHotEncoder',
        ),
        ("SELECT i, current_date() AS t FROM points", (["t"],), TypeMismatchError, "date"),
        ("SELECT i, s FROM points", (["i"], "s"), TypeMismatchError, 'label "s" is not numeric'),
        ("SELECT i, d FROM points", (["j"],), ColumnNotFoundError, "there are i int, d double"),
        ("SELECT i, d FROM points", ([],), DataError, "there are no features"),
        ("SELECT i, d FROM points", (["i", "I"],), DataError, "given twice"),
        ("SELECT i, d FROM points", (["i"], "i"), DataError, "a feature and the label"),
        ("SELECT i, d AS i FROM points", (["i"],), AmbiguousColumnError, "2 columns"),
        ("SELECT i FROM points WHERE i < 0", (), DataError, "no rows"),
        ("SELECT n FROM points WHERE n IS NULL", (None, None, None, "drop"), DataError, "no row is left"),
        ("SELECT n FROM points WHERE n IS NULL", (None, None, None, "mean"), DataError, 'column "n" has no value'),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_bad_features(
    context: sharkpy.SharkContext, query: str, arguments: tuple[object, ...], error: type[SharkError], text: str
) -> None:
    gc.collect()
    before = context.engine.store.usage()
    with pytest.raises(error) as raised:
        stored(context, query, *arguments)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)
    del raised
    gc.collect()
    assert context.engine.store.usage() == before


def test_what_no_table_is(context: sharkpy.SharkContext) -> None:
    with pytest.raises(TableNotFoundError, match="pionts"):
        training_blocks("pionts", session=context)
    with pytest.raises(DataError, match="give the name of the column as y"):
        training_blocks("points", np.ones(ROWS), session=context)


def half(block: FeatureBlock, argument: float) -> float:
    if block.number == 1:
        raise ValueError("a wrong number")
    return argument / 2


def test_an_error_of_a_kernel_names_it_and_the_block(context: sharkpy.SharkContext) -> None:
    blocks = stored(context, "SELECT d FROM points")
    with pytest.raises(ExecutionError, match='function "half" raised ValueError on block 1') as raised:
        blocks.run(half, 1.0)
    assert 'raise ValueError("a wrong number")' in str(raised.value)
    assert Path(__file__).name in str(raised.value)
    assert raised.value.sqlstate == "38000"
    assert len(blocks.run(arrays)) == len(blocks.handles)


def test_a_large_argument_and_large_results(context: sharkpy.SharkContext) -> None:
    argument = np.arange(400_000.0)
    blocks = stored(context, "SELECT d FROM points")
    found = blocks.run(lambda block, values: values * block.number, argument)
    for number, values in enumerate(found):
        np.testing.assert_array_equal(values, argument * number)


def test_blocks_go_with_their_owner(context: sharkpy.SharkContext) -> None:
    gc.collect()
    store = context.engine.store
    before = store.usage().num_blocks
    blocks = stored(context, "SELECT d * 2 AS d FROM points")
    paths = [Path(handle.memory_path) for handle in blocks.handles]
    assert store.usage().num_blocks == before + len(paths)
    assert all(path.is_file() for path in paths)
    blocks.run(arrays)
    del blocks
    gc.collect()
    assert store.usage().num_blocks == before
    assert not any(path.exists() for path in paths)


def test_evicted_blocks_are_read_from_disk(context: sharkpy.SharkContext) -> None:
    blocks = stored(context, "SELECT d, f FROM points")
    before, _ = whole(blocks)
    store = context.engine.store
    store.make_room(store.memory_limit)
    assert not any(store.is_in_memory(handle) for handle in blocks.handles)
    np.testing.assert_array_equal(whole(blocks)[0], before)


def test_room_is_made_for_them(tmp_path: Path) -> None:
    settings = {"shark.store.memory.limit": "6m", "shark.temp.dir": str(tmp_path)}
    with sharkpy.connect("local[2]", tmp_path / "warehouse", **settings) as context:
        for name in ("old", "new"):
            context.sql(
                f"CREATE TABLE {name} {MEMORY} AS SELECT sin(id) AS a, cos(id) AS b"
                " FROM (SELECT explode(sequence(1, 150000)) AS id) q"
            )
        blocks = stored(context, "SELECT a, b FROM new")
        assert all(context.engine.store.is_in_memory(handle) for handle in blocks.handles)
        assert blocks.run(lambda block, _: block.num_rows) == [150_000]
        assert context.engine.store.usage().memory_bytes <= 6 << 20


def waiting(block: FeatureBlock, seconds: float) -> None:
    time.sleep(seconds)


def test_a_pass_is_cancelled(context: sharkpy.SharkContext) -> None:
    blocks = stored(context, "SELECT d FROM points")
    when(lambda: context.num_running, context.cancel)
    started = time.monotonic()
    with pytest.raises(CancelledError):
        blocks.run(waiting, 10.0 if not blocks.is_in_driver else 1.5)
    assert time.monotonic() - started < allowed(9)
    assert len(blocks.run(arrays)) == len(blocks.handles)


@pytest.mark.parametrize(
    "query", ["SELECT d, f FROM points", "SELECT y, sum(i) AS t, count(*) AS c FROM points GROUP BY y"]
)
@pytest.mark.parametrize("damage", ["deleted", "flipped"])
def test_lost_blocks_are_made_again(context: sharkpy.SharkContext, query: str, damage: str) -> None:
    blocks = stored(context, query)
    before = [(number, X.tobytes()) for number, X, _ in blocks.run(arrays)]
    lost = blocks.handles[-1]
    others = {handle.block_id: Path(handle.memory_path).stat().st_mtime_ns for handle in blocks.handles[:-1]}
    if damage == "deleted":
        Path(lost.memory_path).unlink()
    else:
        content = bytearray(Path(lost.memory_path).read_bytes())
        content[len(content) // 2] ^= 1
        Path(lost.memory_path).unlink()
        Path(lost.memory_path).write_bytes(content)
    started = blocks.num_tasks
    assert [(number, X.tobytes()) for number, X, _ in blocks.run(arrays)] == before
    assert {handle.block_id: Path(handle.memory_path).stat().st_mtime_ns for handle in blocks.handles[:-1]} == others
    if not blocks.is_in_driver and len(blocks.handles) > 1:
        again = blocks.num_tasks - started
        assert again == 3, "two tasks of the pass, and one for the block that was lost"


def test_lost_blocks_whose_table_has_changed(context: sharkpy.SharkContext) -> None:
    context.sql("DROP TABLE IF EXISTS other")
    context.sql(f"CREATE TABLE other {MEMORY} AS SELECT d FROM points")
    blocks = stored(context, "SELECT d * 2 AS d FROM other")
    context.sql("INSERT OVERWRITE TABLE other SELECT d + 1 FROM points")
    gc.collect()
    context.engine.store.usage()
    blocks.run(arrays)
    Path(blocks.handles[0].memory_path).unlink()
    with pytest.raises(CorruptionError, match="changed since"):
        blocks.run(arrays)
