"""Forms of EXPLAIN, and the figures of each operator in the tree of a query that has run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import sharkpy
from sharkpy.execution.tasks.report import OperatorFigures, read_figures, sum_figures
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import BlockColumns

STAGED = {
    "shark.placement.driver": "false",
    "shark.task.single.max.bytes": "0",
    "shark.task.single.max.rows": "0",
    "shark.join.replicate.max.rows": "0",
    "shark.block.rows": "400",
}


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("CREATE TABLE n AS SELECT k FROM (SELECT posexplode(split(space(999), ' ')) AS (k, s)) x")
    context.sql("CREATE TABLE names (m INT, name STRING); INSERT INTO names VALUES (0, 'even'), (1, 'odd')")
    return context


def lines_of(context: sharkpy.SharkContext, text: str) -> list[str]:
    result = context.sql(text)
    assert result.is_text
    assert result.columns == ["plan"]
    return [line for (line,) in result]


def rows_of(lines: list[str], operator: str) -> str:
    """First column of the operator's line."""
    found = [line for line in lines if re.match(rf"[\s\d,.\-A-Za-z]*  {operator}", line)]
    assert len(found) == 1, "\n".join(lines)
    return found[0].split()[0]


def test_operators_in_the_driver(context: sharkpy.SharkContext) -> None:
    context.sql("CACHE TABLE n; CACHE TABLE names")
    lines = lines_of(
        context,
        "EXPLAIN ANALYZE SELECT name, count(*) FROM n JOIN names ON k % 2 = m WHERE k >= 100 "
        "GROUP BY name HAVING count(*) > 3 ORDER BY name LIMIT 1",
    )
    assert re.match(r"== Run: 1 row in [\d.]+ (ms|s), planned in [\d.]+ ms ==", lines[0])
    assert "1 task in the driver" in lines[2]
    assert rows_of(lines, "TopN") == "1"
    assert rows_of(lines, "HashAggregate") == "2"
    assert rows_of(lines, "HashJoin") == "900"
    assert rows_of(lines, "BlockScan default.n ") == "900"
    assert rows_of(lines, "BlockScan default.names ") == "2"
    assert any("1 block kept, 0 pruned; 1,000 rows" in line for line in lines)
    assert any("encodings: k " in line for line in lines)


@pytest.mark.spark
def test_stages_hang_below_their_exchanges(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **STAGED) as context:
        context.sql("CREATE TABLE n AS SELECT k FROM (SELECT posexplode(split(space(999), ' ')) AS (k, s)) x")
        context.sql("CACHE TABLE n")
        lines = lines_of(context, "EXPLAIN ANALYZE SELECT k % 3, count(*) FROM n GROUP BY k % 3")
    assert rows_of(lines, "HashAggregate final") == "3"
    assert rows_of(lines, "BlockScan default.n ") == "1,000"
    assert any("on RDDs" in line and "· stage 1:" in line for line in lines)
    read = next(number for number, line in enumerate(lines) if "ExchangeRead" in line)
    scan = next(number for number, line in enumerate(lines) if "BlockScan" in line)
    assert read < scan
    assert lines[scan].index("BlockScan") > lines[read].index("ExchangeRead")


def test_files_and_malformed_lines(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.txt").write_text("1,2\n3,x\n5,6\n")
    context.sql(
        "CREATE EXTERNAL TABLE t (a INT, b INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' "
        f"LOCATION '{tmp_path / 't'}'"
    )
    lines = lines_of(context, "EXPLAIN ANALYZE SELECT a, b FROM t UNION ALL SELECT 1, 2")
    assert any("1 malformed field" in line for line in lines)
    assert rows_of(lines, "FileScan") == "3"
    assert rows_of(lines, "UnionAll") == "4"
    assert any("12 B of files" in line for line in lines)


def test_extended_shows_every_step(context: sharkpy.SharkContext) -> None:
    lines = lines_of(context, "EXPLAIN EXTENDED SELECT count(*) FROM n WHERE k > 5")
    assert [line for line in lines if line.startswith("==")] == [
        "== Bound plan ==",
        "== Logical plan ==",
        "== Physical plan: one stage in the driver ==",
        "== SQL of stage 1, the result: 1 task ==",
    ]
    assert any(line.startswith("-- in0: FileScan default.n") for line in lines)


def test_profiling_ends_with_the_query(context: sharkpy.SharkContext) -> None:
    lines_of(context, "EXPLAIN ANALYZE SELECT k FROM n")
    result = context.sql("SELECT k FROM n")
    result.fetchall()
    assert result.profile is not None
    assert all(not stage.operators for stage in result.profile.stages)


def test_the_text_of_a_plan_is_made_for_those_who_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[PhysicalPlan] = []
    explain = PhysicalPlan.explain

    def spy(plan: PhysicalPlan) -> str:
        asked.append(plan)
        return explain(plan)

    with sharkpy.connect("local[2]", tmp_path / "w", shark_history_plan_bytes=0) as context:
        context.sql("CREATE TABLE n AS SELECT explode(sequence(1, 9)) AS k").close()
        monkeypatch.setattr(PhysicalPlan, "explain", spy)
        result = context.sql("SELECT sum(k) FROM n WHERE k > 2")
        assert result.profile is not None
        assert result.profile.physical == ""
        assert result.fetchall() == [(42,)]
        assert asked == []
        (stage,) = result.profile.stages
        assert stage.fragment is not None
        assert result.profile.physical == explain(stage.fragment)
        assert "HashAggregate" in result.profile.physical
        assert asked == [stage.fragment] * 2


def test_figures_of_a_profile() -> None:
    def scan(columns: list[str], rows: int) -> dict[str, object]:
        info = {"Function": "PYTHON_ARROW_SCAN", "Projections": columns}
        return {"type": "TABLE_SCAN", "intermediate_rows": rows, "timing": 0.5, "extra_info": info}

    union = {"type": "UNION", "children": [scan(["c1"], 3), scan(["c1"], 4)]}
    join = {"type": "HASH_JOIN", "intermediate_rows": 2, "children": [union, scan(["c9"], 5)]}
    profile = {"operator": [{"type": "PROJECTION", "intermediate_rows": 2, "children": [join]}]}
    inputs = [BlockColumns("in0", ("a",), ("c1",)), BlockColumns("in1", ("b",), ("c9",))]
    figures = read_figures(json.dumps(profile), inputs)
    both = frozenset(("in0", "in1"))
    assert [(one.kind, one.relations, one.rows) for one in figures] == [
        ("project", both, 2),
        ("join", both, 2),
        ("union", frozenset(("in0",)), 0),
        ("scan", frozenset(("in0",)), 3),
        ("scan", frozenset(("in0",)), 4),
        ("scan", frozenset(("in1",)), 5),
    ]
    summed = {(one.kind, one.relations): one for one in sum_figures([figures, figures])}
    assert summed["scan", frozenset(("in0",))] == OperatorFigures("scan", frozenset(("in0",)), 0, 14, 0, 2.0)
    assert summed["project", both].rows == 4
