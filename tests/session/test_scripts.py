"""Scripts of queries in a session: its files, its rights, and their lines in EXPLAIN and records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ExecutionError, NotAllowedError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.execution.stages.stage_record import recorded_stages, rerun_task
from tests.waiting import allowed

CAT = "SELECT TRANSFORM(a) USING 'cat' AS (x INT) FROM t"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("scripts")) as context:
        context.sql("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3")
        yield context


@pytest.fixture
def session(owner: sharkpy.SharkContext) -> sharkpy.SharkContext:
    return owner.new_session()


def column(session: sharkpy.SharkContext, query: str) -> list[object]:
    return sorted(row[0] for row in session.sql(query).fetchall())


def test_added_files_lie_beside_the_script(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    tool, words = tmp_path / "one" / "tool.py", tmp_path / "two" / "words.py"
    tool.parent.mkdir()
    words.parent.mkdir()
    tool.write_text("import sys, words\nfor line in sys.stdin:\n    print(words.NAMES[int(line)])\n")
    words.write_text("NAMES = ['', 'one', 'two', 'three']\n")
    query = "SELECT TRANSFORM(a) USING 'python3 tool.py' AS (name) FROM t"
    with pytest.raises(ExecutionError, match="exit code 2"):
        session.sql(query).fetchall()
    session.sql(f"ADD FILES {tool} {words}")
    # The plan of the first try is not used again.
    assert column(session, query) == ["one", "three", "two"]
    session.sql(f"DELETE FILE {words}")
    with pytest.raises(ExecutionError, match="words"):
        session.sql(query).fetchall()


def test_an_added_file_is_a_program(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    tool = tmp_path / "double.sh"
    tool.write_text("#!/bin/bash\nwhile read n; do echo $((2 * n)); done\n")
    session.sql(f"ADD FILE {tool}")
    assert column(session, "SELECT TRANSFORM(a) USING 'double.sh' AS (x INT) FROM t") == [2, 4, 6]


def test_a_changed_file_is_seen_by_the_next_query(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    tool = tmp_path / "say.sh"
    session.sql(f"ADD FILE {_script(tool, 'cat > /dev/null; echo old')}")
    query = "SELECT TRANSFORM(a) USING 'bash say.sh' AS (x) FROM t"
    assert column(session, query) == ["old"]
    _script(tool, "cat > /dev/null; echo new")
    assert column(session, query) == ["new"]


def _script(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


GUARDED = [
    CAT,
    f"CREATE TABLE made AS {CAT}",
    f"INSERT INTO t {CAT}",
    f"EXPLAIN ANALYZE {CAT}",
    "SELECT * FROM seen",
    "SELECT count(*) FROM t WHERE a IN (SELECT x FROM seen)",
]


@pytest.mark.parametrize("statement", GUARDED)
def test_a_session_without_the_right_runs_no_script(owner: sharkpy.SharkContext, statement: str) -> None:
    owner.sql(f"CREATE VIEW IF NOT EXISTS seen AS {CAT}")
    if statement.startswith("SELECT"):
        # Its plan is known now, and not the guest's to run.
        owner.sql(statement).fetchall()
    guest = owner.new_session(shark_user="ann")
    guest.restrictions = Restrictions(refuses_code=True)
    with pytest.raises(NotAllowedError, match="script") as raised:
        guest.sql(statement).fetchall()
    assert "--allow-code" in str(raised.value)
    assert column(owner, "SELECT a FROM t") == [1, 2, 3]


def test_the_plan_may_be_looked_at_without_the_right(owner: sharkpy.SharkContext) -> None:
    guest = owner.new_session(shark_user="ann")
    guest.restrictions = Restrictions(refuses_code=True)
    lines = [row[0] for row in guest.sql(f"EXPLAIN {CAT}").fetchall()]
    assert any("Step 'cat' as [x#" in line for line in lines)


def test_explain_shows_the_query_below_and_the_figures(session: sharkpy.SharkContext) -> None:
    extended = "\n".join(row[0] for row in session.sql(f"EXPLAIN EXTENDED {CAT}").fetchall())
    assert "-- below in1:" in extended
    analyzed = [row[0] for row in session.sql(f"EXPLAIN ANALYZE {CAT}").fetchall()]
    (line,) = [line for line in analyzed if "Step 'cat'" in line]
    assert line.split()[0] == "3"


def test_a_recorded_stage_with_a_script_runs_again(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    session.sql(f"SET shark.debug.record={tmp_path / 'record'}")
    query = "SELECT x, count(*) FROM (SELECT TRANSFORM(a % 2) USING 'cat' AS (x INT) FROM t) q GROUP BY x"
    assert sorted(session.sql(query).fetchall()) == [(0, 1), (1, 2)]
    (facts,) = recorded_stages(tmp_path / "record")
    again = rerun_task(tmp_path / "record", facts.number, 0)
    rows = [tuple(row.values()) for batch in again.batches for row in batch.to_pylist()]
    assert sorted(rows) == [(0, 1), (1, 2)]


def test_rows_that_a_script_may_leave(session: sharkpy.SharkContext) -> None:
    many = (
        "SELECT t.a FROM t CROSS JOIN t u CROSS JOIN t v CROSS JOIN (SELECT explode(split(space(20000), ' ')) AS s) s"
    )
    query = f"SELECT TRANSFORM(a) USING 'head -n 1' AS (x INT) FROM ({many}) q"
    with pytest.raises(ExecutionError, match="before it had read all") as raised:
        session.sql(query).fetchall()
    assert raised.value.hint is not None
    assert "hive.exec.script.allow.partial.consumption" in raised.value.hint
    session.sql("SET hive.exec.script.allow.partial.consumption=true")
    assert len(session.sql(query).fetchall()) == 1


def test_a_script_may_print_before_it_has_read_and_after(session: sharkpy.SharkContext) -> None:
    """Much in both directions at once: neither side waits for the other for ever."""
    session.sql("CREATE TEMPORARY TABLE many AS SELECT posexplode(split(space(300000), ' ')) AS (n, s)")
    loop = "for (i = 0; i < 200000; i++) print -i"
    noisy = f"awk 'BEGIN {{ {loop} }} {{ print }} END {{ {loop} }}'"
    counted = session.sql(
        f'SELECT count(*), count(if(x > 0, 1, NULL)) FROM (SELECT TRANSFORM(n) USING "{noisy}" AS (x INT) FROM many) q'
    ).fetchall()
    assert counted == [(700_001, 300_000)]


def test_a_script_that_fails_ends_the_one_below_it(session: sharkpy.SharkContext) -> None:
    below = "SELECT TRANSFORM(a) USING 'yes 7' AS (x INT) FROM t"
    failing = 'bash -c "cat > /dev/null & sleep 1; exit 5"'
    started = time.perf_counter()
    with pytest.raises(ExecutionError, match="exit code 5"):
        session.sql(f"SELECT TRANSFORM(x) USING '{failing}' AS (y INT) FROM ({below}) q").fetchall()
    assert time.perf_counter() - started < allowed(20)


def test_a_limit_ends_all_scripts_below_it(session: sharkpy.SharkContext) -> None:
    below = "SELECT TRANSFORM(a) USING 'yes 7' AS (x INT) FROM t"
    query = f"SELECT TRANSFORM(x) USING 'cat' AS (y INT) FROM ({below}) q LIMIT 3"
    assert session.sql(query).fetchall() == [(7,), (7,), (7,)]
