"""Readers of several targets of one epoch see all of them before it, or after it."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.catalog.model import Table
from sharkpy.execution.tables.snapshot import QuerySnapshot
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers
from tests.waiting import until

CACHED = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
FORMS = {
    "plain": "(n BIGINT, s STRING) STORED AS PARQUET",
    "cached": f"(n BIGINT, s STRING) STORED AS PARQUET {CACHED}",
    "parts": "(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET",
    "cached_parts": f"(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET {CACHED}",
    "held_parts": "(n BIGINT) PARTITIONED BY (s STRING) STORED AS PARQUET TBLPROPERTIES"
    " ('shark.cache' = 'MEMORY', 'shark.cache.policy' = 'FIFO', 'shark.cache.policy.maxSize' = '1')",
}
PAIRS = [
    ("plain", "plain"),
    ("cached", "cached"),
    ("plain", "cached_parts"),
    ("parts", "cached"),
    ("cached_parts", "parts"),
    ("held_parts", "plain"),
]
QUESTIONS = (
    "SELECT a, b FROM (SELECT count(*) AS a FROM one) x CROSS JOIN (SELECT count(*) AS b FROM two) y",
    "SELECT count(*), (SELECT count(*) FROM two) FROM one",
    "WITH both AS (SELECT 1 AS x, 0 AS y FROM one UNION ALL SELECT 0, 1 FROM two) SELECT sum(x), sum(y) FROM both",
    "SELECT count(x.n), count(y.n) FROM one x FULL OUTER JOIN two y ON x.n = y.n",
    "SELECT (SELECT count(*) FROM one WHERE n NOT IN (SELECT n FROM two)), 0",
)
"""Each gives two numbers that are equal in every epoch."""
EPOCHS = 30
RUNNER = """
import sys, sharkpy, time
with sharkpy.connect("local[2]", sys.argv[1]) as context:
    context.sql("ALTER CONTINUOUS INSERT c TRIGGER EVERY 1 MILLISECONDS")
    time.sleep(600)
"""


def make(context: sharkpy.SharkContext, folder: Path, forms: tuple[str, str], trigger: str = "") -> None:
    make_stream(context, folder, "('max.files.per.epoch' = '1')")
    for name, form in zip(("one", "two"), forms, strict=True):
        context.sql(f"CREATE TABLE {name} {FORMS[form]}")
    put_numbers(folder, "a", [1, 2])
    context.sql(
        f"CREATE CONTINUOUS INSERT c {trigger} AS FROM numbers"
        " INSERT INTO one SELECT n, 'x' INSERT INTO two SELECT n, concat('p', n % 2)"
    )


def count(snapshot: QuerySnapshot, context: sharkpy.SharkContext, name: str) -> int:
    """Number of rows of a table in a snapshot."""
    from sharkpy.execution.queries.run_plan import query_rows
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.sql.binder import bind

    plan = bind(f"SELECT n FROM {name}", context.catalog, context.conf, "default")
    assert isinstance(plan, LogicalPlan)
    return sum(batch.num_rows for batch in query_rows(context, plan, snapshot))


@pytest.mark.variants(3)
@pytest.mark.parametrize("forms", PAIRS, ids="-".join)
def test_a_snapshot_stays_at_its_moment(context: sharkpy.SharkContext, tmp_path: Path, forms: tuple[str, str]) -> None:
    make(context, tmp_path / "in", forms, "TRIGGER AVAILABLE NOW")

    def snapshot() -> tuple[QuerySnapshot, list[Table]]:
        return context.snapshot(), [context.catalog.table("default", name) for name in ("one", "two")]

    seen, tables = snapshot()
    seen.capture(tables)
    apart, _ = snapshot()
    assert count(apart, context, "one") == 2
    put_numbers(tmp_path / "in", "b", [3, 4, 5])
    context.sql("RESUME CONTINUOUS INSERT c")
    context.sql("INSERT INTO two VALUES (9, 'p1')")
    assert count(apart, context, "two") == 6
    assert (count(seen, context, "two"), count(seen, context, "one")) == (2, 2)
    for one in (seen, apart):
        one.release()
    now, tables = snapshot()
    now.capture(tables)
    assert (count(now, context, "two"), count(now, context, "one")) == (6, 5)
    now.release()
    assert (numbers(context, "one"), numbers(context, "two")) == ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 9])


@pytest.mark.variants
@pytest.mark.parametrize(
    ("forms", "is_apart"),
    [*((forms, False) for forms in PAIRS), *((forms, True) for forms in PAIRS[1:4])],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "apart" if value else "here",
)
def test_statements_beside_epochs(tmp_path: Path, forms: tuple[str, str], is_apart: bool) -> None:
    folder = tmp_path / "in"
    seen: list[tuple[str, list[tuple[object, ...]]]] = []
    is_over = threading.Event()

    def read(context: sharkpy.SharkContext) -> None:
        while not is_over.is_set():
            seen.extend((text, rows(context, text)) for text in QUESTIONS)

    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, folder, forms, "TRIGGER AVAILABLE NOW" if is_apart else "")
        until(lambda: len(numbers(context, "two")) == 2)
        runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path / "w")]) if is_apart else None
        readers = [threading.Thread(target=read, args=[context.new_session()]) for _ in range(2)]
        try:
            for reader in readers:
                reader.start()
            for number in range(EPOCHS):
                put_numbers(folder, f"b{number:03}", range(10 * number + 10, 10 * number + 20))
                until(lambda wanted=10 * number + 12: len(numbers(context, "two")) >= wanted - 100)
            until(lambda: len(numbers(context, "two")) == 10 * EPOCHS + 2)
        finally:
            is_over.set()
            for reader in readers:
                reader.join()
            if runner is not None:
                runner.kill()
                runner.wait()
        assert len(rows(context, "SHOW EPOCHS c")) == EPOCHS + 1
    wrong = [(text, found) for text, found in seen if found[0][0] != found[0][1]]
    assert not wrong, f"{len(wrong)} of {len(seen)}: {wrong[:3]}"
    assert {text for text, _ in seen} == set(QUESTIONS)
