"""How queries of suites are measured: texts that are new to an engine, and CPU time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import sqlglot
from sqlglot import exp

from bench.cpu_time import cpu_seconds
from bench.new_text import new_text
from bench.suites import SUITES
from sharkpy import SharkContext
from tests.rows import rows

QUERIES = [(suite.name, name, sql) for suite in SUITES.values() for name, sql in suite.queries().items()]


@pytest.mark.parametrize("suite", SUITES)
def test_new_texts_differ_in_one_condition_of_the_outermost_query(suite: str) -> None:
    for name, sql in SUITES[suite].queries().items():
        query = sqlglot.parse_one(new_text(sql, 1001), read="hive")
        one = query.find(exp.Select)
        assert one is not None, name
        where = one.args["where"].this
        assert where.sql().startswith("1001 = 1001"), name


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, count(*) FROM t GROUP BY k ORDER BY k LIMIT 3",
        "SELECT k FROM t WHERE k BETWEEN 2 AND 3 OR k = 5",
        "WITH w AS (SELECT k FROM t WHERE k > 1) SELECT max(k) FROM w",
    ],
)
def test_a_new_text_is_planned_again_to_the_same_plan(context: SharkContext, sql: str) -> None:
    context.sql("CREATE TABLE t AS SELECT explode(array(1, 2, 3, 4, 5)) AS k").close()
    plans = context._shared.plans
    expected, plan = rows(context, sql), rows(context, f"EXPLAIN {sql}")
    assert len(plans) == 1
    for number, known in ((1001, 2), (1002, 3)):
        assert rows(context, new_text(sql, number)) == expected
        assert len(plans) == known
        assert rows(context, f"EXPLAIN {new_text(sql, number)}") == plan


def test_cpu_time_counts_processes_that_run_and_processes_that_have_ended() -> None:
    busy = "import time\nwhile time.process_time() < 0.5: pass\n"
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert cpu_seconds() - before >= 0.4
    before = cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", busy + "print(flush=True)\ninput()"], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert cpu_seconds() - before >= 0.4
        process.communicate(b"\n")
    before = cpu_seconds()
    time.sleep(0.2)
    assert cpu_seconds() - before < 0.1
