"""SharkContext: statements, settings, threads, ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import (
    ColumnNotFoundError,
    ConfigurationError,
    ExecutionError,
    ParseError,
    SharkError,
    TableNotFoundError,
)

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def numbers(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE t (k INT, s STRING); INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')")
    return context


def test_the_last_of_several_statements_answers(context: sharkpy.SharkContext) -> None:
    assert context.sql("SELECT 1; SELECT 2 AS two;").fetchall() == [(2,)]
    with pytest.raises(ParseError):
        context.sql("  ;; ")


def test_names_and_types(numbers: sharkpy.SharkContext) -> None:
    result = numbers.sql("SELECT k AS key, upper(s), k / 2 FROM t")
    assert result.columns[0] == "key"
    assert [str(field.dtype) for field in result.schema] == ["int", "string", "double"]


def test_results_read_side_by_side(numbers: sharkpy.SharkContext) -> None:
    one, other = numbers.sql("SELECT k FROM t ORDER BY k"), numbers.sql("SELECT s FROM t ORDER BY k")
    assert [one.fetchone(), other.fetchone(), one.fetchone(), other.fetchone()] == [(1,), ("a",), (2,), (None,)]


def test_profile(numbers: sharkpy.SharkContext) -> None:
    result = numbers.sql("SELECT count(*) FROM t WHERE k > 1")
    result.fetchall()
    profile = result.profile
    assert profile.stages[-1].rows_out == 1
    assert profile.stages[-1].placement == "driver"


def test_settings(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path, shark_block_rows=10, **{"hive.any.key": "x"}) as context:
        assert context.conf["shark.block.rows"] == "10"
        assert context.conf["hive.any.key"] == "x"
        context.sql("SET shark.pruning=false")
        assert context.conf["shark.pruning"] == "false"
    with pytest.raises(ConfigurationError, match=r"shark\.block\.rows"):
        sharkpy.connect(warehouse=tmp_path, shark_block_rows="many")


def test_errors_are_typed_and_leave_the_session_usable(numbers: sharkpy.SharkContext) -> None:
    for text, kind in (
        ("SELECT * FROM nothing", TableNotFoundError),
        ("SELECT kk FROM t", ColumnNotFoundError),
        ("SELEC 1", ParseError),
    ):
        with pytest.raises(kind):
            numbers.sql(text)
    assert numbers.sql("SELECT max(k) FROM t").fetchall() == [(3,)]


def test_stop_ends_everything(tmp_path: Path) -> None:
    context = sharkpy.connect(warehouse=tmp_path)
    result = context.sql("SELECT 1")
    context.stop()
    context.stop()
    with pytest.raises(ExecutionError, match="stopped"):
        context.sql("SELECT 1")
    with pytest.raises(SharkError):
        result.fetchall()


def test_tables_outlive_the_session(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path) as context:
        context.sql("CREATE TABLE kept TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 7 AS x")
    with sharkpy.connect(warehouse=tmp_path) as context:
        assert context.sql("SELECT x FROM kept").fetchall() == [(7,)]


def test_threads_share_a_session(numbers: sharkpy.SharkContext) -> None:
    numbers.sql("CACHE TABLE t")
    answers: list[object] = []

    def work(number: int) -> None:
        answers.append(numbers.sql(f"SELECT count(*), sum(k + {number}) FROM t").fetchall() == [(3, 6 + 3 * number)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8


def test_explain(numbers: sharkpy.SharkContext) -> None:
    numbers.sql("CACHE TABLE t")
    text = "\n".join(line for (line,) in numbers.sql("EXPLAIN SELECT s, count(*) FROM t WHERE k > 1 GROUP BY s"))
    assert "== Physical plan: one stage in the driver ==" in text
    assert "BlockScan default.t" in text
    extended = "\n".join(line for (line,) in numbers.sql("EXPLAIN EXTENDED SELECT s FROM t WHERE k > 1"))
    titles = [line for line in extended.splitlines() if line.startswith("==")]
    assert [title.split(" ")[1] for title in titles] == ["Bound", "Logical", "Physical", "SQL"]
    assert 'FROM in0\nWHERE ("c1" > ' in extended
    analyzed = "\n".join(line for (line,) in numbers.sql("EXPLAIN ANALYZE SELECT s FROM t WHERE k > 1"))
    assert "2 rows in" in analyzed
    assert "1 block kept, 0 pruned" in analyzed
    assert "in the driver" in analyzed


def test_explain_analyze_of_a_command_runs_it(numbers: sharkpy.SharkContext) -> None:
    numbers.sql("EXPLAIN INSERT INTO t SELECT 4, 'd'").fetchall()
    assert numbers.sql("SELECT count(*) FROM t").fetchall() == [(3,)]
    lines = numbers.sql("EXPLAIN ANALYZE INSERT INTO t SELECT 4, 'd'").fetchall()
    assert any("stage 1" in line for (line,) in lines)
    assert numbers.sql("SELECT count(*) FROM t").fetchall() == [(4,)]


def test_no_jvm_for_driver_queries(numbers: sharkpy.SharkContext) -> None:
    assert numbers.sql("SELECT s, count(*) FROM t GROUP BY s").fetchall()
    assert not numbers.engine.is_spark_started


def test_unwritable_warehouse(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ConfigurationError, match="warehouse"):
        sharkpy.connect(warehouse=file)


def test_nothing_heavy_is_imported_by_connect(tmp_path: Path) -> None:
    program = (
        "import sys, sharkpy; c = sharkpy.connect(warehouse=sys.argv[1]); c.sql('SHOW TABLES').fetchall(); "
        "print([m for m in ('pyspark', 'numba', 'pandas') if m in sys.modules]); c.stop()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_create_and_cache_table_import_no_streams_and_no_other_formats(tmp_path: Path) -> None:
    program = (
        "import sys, sharkpy; c = sharkpy.connect(warehouse=sys.argv[1]); "
        "c.sql('CREATE TABLE t (a INT) STORED AS PARQUET'); c.sql('CACHE TABLE t'); "
        "print([m for m in sys.modules if m.startswith(('sharkpy.sql.incremental.', 'sharkpy.sources.avro', "
        "'sharkpy.sources.csv_files.', 'sharkpy.sources.orc_reader'))]); c.stop()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.spark
def test_rdd_placement_gives_the_same(tmp_path: Path) -> None:
    sql = "SELECT s, count(*), sum(k) FROM t GROUP BY s ORDER BY s"
    with sharkpy.connect("local[2]", tmp_path, **{"shark.placement.driver": False}) as context:
        context.sql("CREATE TABLE t (k INT, s STRING); INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'a')")
        assert context.sql(sql).fetchall() == [(None, 1, 2), ("a", 2, 4)]
        assert context.engine.is_spark_started
