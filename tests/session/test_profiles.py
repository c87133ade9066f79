"""Profiles of statements as JSON, in EXPLAIN ANALYZE and in the history, and the tables of `sys` about statements."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError, ParseError, SharkError
from sharkpy.catalog import statement_records
from sharkpy.execution.restrictions import Restrictions
from sharkpy.execution.statement_figures import TableLoad, loading_seconds
from sharkpy.explain import profile_html
from sharkpy.explain.profile_json import profile_of
from tests.rows import rows

QUERY = "SELECT a.g, count(*) AS n FROM t a JOIN t b ON a.k = b.k WHERE b.g > 2 GROUP BY a.g"


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("SET shark.block.rows = 500")
    context.sql(
        "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS"
        " SELECT k, k % 7 AS g FROM (SELECT explode(sequence(1, 2000)) AS k) x"
    )
    return context


def profile(context: sharkpy.SharkContext, text: str) -> dict[str, Any]:
    [(line,)] = context.sql(text).fetchall()
    found: dict[str, Any] = json.loads(line)
    return found


def recorded(context: sharkpy.SharkContext, text: str) -> dict[str, Any]:
    """Run a statement. Return the profile that its record has."""
    context.sql(text).fetchall()
    found = profile_of(context.history(1)[0])
    assert found is not None
    return dict(json.loads(json.dumps(found)))


def tree(found: dict[str, Any]) -> list[str]:
    """Kinds of the operators from the root down. It reaches each operator exactly once."""
    seen, waiting = [], [found["root"]]
    while waiting:
        one = found["operators"][waiting.pop()]
        seen.append(one["id"])
        waiting += reversed(one["children"])
    assert sorted(seen) == list(range(len(found["operators"])))
    return [found["operators"][number]["kind"] for number in seen]


def labels(context: sharkpy.SharkContext, text: str) -> list[str]:
    """Kinds of the operators in the tree of EXPLAIN ANALYZE."""
    lines = [line[33:].strip() for (line,) in context.sql(f"EXPLAIN ANALYZE {text}").fetchall()]
    return [line.split(" ")[0] for line in lines if line[:1].isupper()]


STAGED = {"shark.placement.driver": "false", "shark.join.broadcast.max.bytes": "0"}


@pytest.mark.parametrize("settings", [{}, STAGED], ids=["driver", "stages"])
def test_the_tree_is_that_of_explain_analyze(context: sharkpy.SharkContext, settings: dict[str, str]) -> None:
    for key, value in settings.items():
        context.sql(f"SET {key} = {value}")
    measured = profile(context, f"EXPLAIN ANALYZE FORMAT JSON {QUERY}")
    assert tree(measured) == labels(context, QUERY)
    assert tree(recorded(context, QUERY)) == tree(measured)
    numbers = [stage["number"] for stage in measured["stages"]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {one["stage"] for one in measured["operators"]} <= set(numbers)
    assert measured["operators"][measured["root"]]["stage"] == numbers[-1]
    assert {stage["placement"] for stage in measured["stages"]} == ({"rdd"} if settings else {"driver"})
    for stage in measured["stages"]:
        assert len(stage["rows_per_task"]) == stage["tasks"]
        assert sum(stage["rows_per_task"]) == stage["rows_in"]
        runs = stage["tasks"] if settings else 0
        assert len(stage["started_per_task"]) == len(stage["seconds_per_task"]) == runs
        assert len(stage["worker_per_task"]) == runs
        assert set(stage["worker_per_task"]) == set(range(len(stage["workers"])))
        assert all(0 <= start <= stage["seconds"] for start in stage["started_per_task"])
        assert (stage["attempts_per_task"], stage["spilled_per_task"], stage["repairs"]) == ([], [], 0)


def test_figures_of_explain_analyze(context: sharkpy.SharkContext) -> None:
    found = profile(context, f"EXPLAIN (ANALYZE, FORMAT JSON) {QUERY}")
    scans = [one for one in found["operators"] if one["kind"] == "BlockScan"]
    assert next((one["rows"], one["blocks_read"], one["blocks_pruned"]) for one in scans) == (2000, 4, 0)
    assert all(one["seconds"] is not None for one in scans)
    assert any("encodings: " in note for note in scans[0]["notes"])
    assert (found["version"], found["rows_read"], found["rows_returned"], found["bytes_spilled"]) == (1, 4000, 4, 0)
    assert 0 < found["planning_seconds"] < found["running_seconds"] <= found["seconds"]
    assert found["decisions"][0]["when"] == "planning"
    assert found["decisions"][0]["figures"]["bytes scanned"] > 0
    assert found["error"] is None
    assert (found["user"], found["blocks_read"], found["blocks_pruned"]) == (context.history(1)[0].user, 8, 0)
    assert found["cpu_seconds"] > 0


def test_profiles_of_the_history(context: sharkpy.SharkContext) -> None:
    found = recorded(context, "SELECT sum(g) AS s FROM t WHERE k <= 500")
    scan = next(one for one in found["operators"] if one["kind"] == "BlockScan")
    assert (scan["blocks_read"], scan["blocks_pruned"], scan["seconds"]) == (1, 3, None)
    assert (found["rows_read"], found["rows_returned"], found["bytes_spilled"]) == (500, 1, None)
    assert found["stages"][0]["started"].endswith("Z")
    context.sql("SELECT 1").fetchall()
    assert profile_of(context.history(1)[0]) is None, "its rows are constants"
    context.sql("SHOW TABLES").fetchall()
    assert profile_of(context.history(1)[0]) is None


def test_the_first_query_of_a_cached_table_shows_its_loading(context: sharkpy.SharkContext) -> None:
    for name in ("u", "v"):
        context.sql(f"CREATE TABLE {name} STORED AS PARQUET AS SELECT * FROM t").fetchall()
    context.sql("CACHE LAZY TABLE u").fetchall()
    found = recorded(context, "SELECT sum(g) AS s FROM u")
    [load] = found["loads"]
    assert (load["table"], load["blocks"]) == ("default.u", 4)
    assert 0 < load["seconds"] == found["loading_seconds"] < found["running_seconds"]
    assert load["started"] < found["stages"][0]["started"]
    assert found["planning_seconds"] + found["loading_seconds"] < found["seconds"]
    assert re.match(r"loading default\.u: [\d.]+ m?s, 4 blocks\n", context.history(1)[0].plan)
    assert recorded(context, "SELECT sum(g) AS s FROM u")["loads"] == []

    context.sql("UNCACHE TABLE u; CACHE LAZY TABLE u; CACHE LAZY TABLE v").fetchall()
    lines = [line for (line,) in context.sql("EXPLAIN ANALYZE SELECT u.g FROM u JOIN v ON u.k = v.k").fetchall()]
    assert sorted(line.split(":")[0] for line in lines[1:3]) == ["loading default.u", "loading default.v"]
    assert not any(line.startswith("loading") for line in lines[3:])
    context.sql("UNCACHE TABLE u; CACHE LAZY TABLE u").fetchall()
    measured = profile(context, "EXPLAIN ANALYZE FORMAT JSON SELECT g FROM u WHERE k > 7")
    assert [(one["table"], one["blocks"]) for one in measured["loads"]] == [("default.u", 4)]


def test_loads_at_the_same_time_count_once() -> None:
    loads = [TableLoad("a", 10.0, 2.0, 1), TableLoad("b", 11.0, 3.0, 1), TableLoad("c", 11.5, 1.0, 1)]
    assert loading_seconds([TableLoad("d", 20.0, 0.5, 1), *loads]) == 4.5
    assert loading_seconds([]) == 0.0


@pytest.mark.parametrize("bound", [9, -1], ids=["rows", "no rows"])
def test_the_query_of_with_is_below_its_readers(context: sharkpy.SharkContext, bound: int) -> None:
    # A table of many sources is computed once.
    sources = " UNION ALL ".join([f"SELECT g FROM t WHERE k < {bound}"] * 20)
    text = (
        f"WITH w AS (SELECT g, count(*) AS n FROM ({sources}) x GROUP BY g) SELECT a.g FROM w a JOIN w b ON a.g = b.n"
    )
    found = recorded(context, text)
    operators = found["operators"]
    readers = [one for one in operators if one["label"].startswith(("BlockScan w ", "Values ")) and one["children"]]
    assert len(readers) == 2
    [(query,), (same,)] = (one["children"] for one in readers)
    assert query == same
    assert operators[query]["stage"] == 1
    assert found["root"] not in (query, None)


def test_a_profile_of_a_write(context: sharkpy.SharkContext) -> None:
    found = recorded(context, "INSERT INTO t SELECT k, g FROM t WHERE k <= 500")
    assert found["stages"][-1]["rows_out"] == 500
    measured = profile(context, "EXPLAIN ANALYZE FORMAT JSON INSERT INTO t SELECT k, g FROM t WHERE k <= 500")
    assert measured["operators"][measured["root"]]["rows"] == 1000


def test_a_profile_of_a_failed_query(context: sharkpy.SharkContext) -> None:
    with pytest.raises(SharkError):
        context.sql("SELECT assert_true(k < 5) FROM t").fetchall()
    found = profile_of(context.history(1)[0])
    assert found is not None
    assert found["stages"] == []
    assert "BlockScan" in tree(found)
    assert isinstance(found["error"], dict)
    assert found["error"]["sqlstate"] == "22000"


PAGE_SOURCE = Path(sharkpy.__file__).parent / "web" / "page" / "profile.html"


def test_a_profile_as_html(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(profile_html, "PAGE", PAGE_SOURCE)
    hostile = "SELECT k, '</script><!-- <script> & \u2028' AS s FROM t WHERE k < 3"
    for text in (f"EXPLAIN ANALYZE FORMAT HTML {hostile}", f"EXPLAIN (ANALYZE, FORMAT HTML) {hostile}"):
        [(page,)] = context.sql(text).fetchall()
        before, found, after = re.split(
            r'<script type="application/json" id="profile">(.*?)</script>', page, flags=re.DOTALL
        )
        assert before + '<script type="application/json" id="profile"></script>' + after == PAGE_SOURCE.read_text()
        assert not set(found) & set("<>&\u2028")
        assert json.loads(found)["text"] == text
        assert json.loads(found)["rows_returned"] == 2
    monkeypatch.setattr(profile_html, "PAGE", tmp_path / "none.html")
    with pytest.raises(ConfigurationError, match="the page of profiles is not built") as caught:
        context.sql("EXPLAIN ANALYZE FORMAT HTML INSERT INTO t SELECT k, g FROM t")
    assert "make page" in str(caught.value.hint)
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(2000,)], "nothing has run"


def test_bounds(tmp_path: Path) -> None:
    for size, is_kept in ((0, False), (50, False), (10_000, True)):
        options = {"shark.history.profile.bytes": size}
        with sharkpy.connect("local[2]", tmp_path / f"w{size}", **options) as context:
            context.sql("SELECT explode(sequence(1, 3))").fetchall()
            assert bool(context.history(1)[0].profile) is is_kept


def test_forms_that_are_refused(context: sharkpy.SharkContext) -> None:
    with pytest.raises(ParseError, match="TEXT, JSON or HTML expected"):
        context.sql(f"EXPLAIN ANALYZE FORMAT XML {QUERY}")
    assert labels(context, f"FORMAT TEXT {QUERY}") == labels(context, QUERY)
    assert context.sql(f"EXPLAIN (ANALYZE) {QUERY}").fetchall()[0][0].startswith("== Run: ")
    assert context.sql("EXPLAIN (SELECT 1)").fetchall(), "a query in parentheses"


# Tables of `sys`


def test_sys_queries(context: sharkpy.SharkContext) -> None:
    context.conf.set("hive.local.time.zone", "Asia/Tokyo")
    context.sql("SET shark.query.tag = nightly")
    context.sql("SELECT sum(g) AS s FROM t WHERE k <= 500").fetchall()
    record = context.history(1)[0]
    text = (
        "SELECT query_id, state, kind, started, rows_read, rows_returned, blocks_read, blocks_pruned, bytes_read"
        " FROM sys.queries WHERE tag = 'nightly' AND text LIKE 'SELECT sum%'"
    )
    started = record.started.replace(tzinfo=None) + timedelta(hours=9)
    expected = (record.query_id, "finished", "SELECT", started, 500, 1, 1, 3, record.bytes_read)
    assert rows(context, text) == [expected]
    with pytest.raises(SharkError):
        context.sql("SELECT nothing FROM t")
    failed = "SELECT sqlstate, error LIKE 'no column%' FROM sys.queries WHERE state = 'failed'"
    assert rows(context, failed) == [("42703", True)]
    running = "SELECT count(*) FROM sys.queries WHERE state = 'running' AND text LIKE 'SELECT count(*) FROM sys%'"
    assert rows(context, running) == [(1,)]


def test_sys_operators(context: sharkpy.SharkContext) -> None:
    context.sql(QUERY).fetchall()
    query_id = context.history(1)[0].query_id
    scans = (
        f"SELECT blocks_read, rows FROM sys.operators WHERE query_id = '{query_id}' AND kind = 'BlockScan'"
        " ORDER BY operator_id"
    )
    assert rows(context, scans) == [(4, None), (4, None)]
    orphans = (
        f"SELECT count(*) FROM sys.operators o LEFT JOIN sys.operators p ON o.query_id = p.query_id"
        f" AND o.parent_id = p.operator_id WHERE o.query_id = '{query_id}' AND p.query_id IS NULL"
    )
    assert rows(context, orphans) == [(1,)], "the root"


def reads_of_profiles(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Run a query. Return the number of saved profiles that it has decompressed."""
    split, reads = statement_records._split, list[int]()

    def counted(details: bytes) -> tuple[str, str]:
        reads.append(len(details))
        return split(details)

    with monkeypatch.context() as patch:
        patch.setattr(statement_records, "_split", counted)
        context.sql(text).fetchall()
    return len(reads)


def test_saved_statements_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"shark.history.saved": True}
    of_sums = " FROM sys.queries WHERE text LIKE 'SELECT sum%' ORDER BY started"
    tree = "SELECT operator_id, parent_id, stage, kind, label FROM sys.operators WHERE query_id = '{}' ORDER BY 1"
    with sharkpy.connect("local[2]", tmp_path / "w", **options) as context:
        for number in range(10):
            context.sql(f"SELECT sum(k + {number}) FROM (SELECT explode(sequence(1, 9)) AS k) t").fetchall()
        with pytest.raises(ParseError):
            context.sql("SELEC '\ud800 \U0001f988 \u00e9'")
        _, known, *_ = context.history()
        before = rows(context, f"SELECT *{of_sums}"), rows(context, tree.format(known.query_id))
        assert (len(before[0]), [row[:2] for row in before[1]][:2]) == (10, [(0, None), (1, 0)])
    monkeypatch.setattr(statement_records, "_PAGE", 4)
    with sharkpy.connect("local[2]", tmp_path / "w", **options) as context:
        assert context.history(query_id=known.query_id) == [known]
        assert profile_of(known)
        assert rows(context, f"SELECT *{of_sums}") == before[0]
        assert rows(context, tree.format(known.query_id)) == before[1]
        text = "SELECT text, tag, sqlstate FROM sys.queries WHERE state = 'failed'"
        assert rows(context, text) == [("SELEC '? \U0001f988 \u00e9'", None, "42601")]
        for name in ("queries", "operators"):
            ids = f"'{known.query_id}', 'no id'"
            for condition in (f"query_id = '{known.query_id}'", f"k = 1 AND query_id IN ({ids})"):
                of_one = f"SELECT query_id FROM (SELECT *, 1 AS k FROM sys.{name}) s WHERE {condition}"
                assert {row for (row,) in rows(context, of_one)} == {known.query_id}
                assert reads_of_profiles(context, monkeypatch, of_one) == (1 if name == "operators" else 0)
            of_two = f"SELECT query_id FROM sys.{name} WHERE query_id = '{known.query_id}' OR length(query_id) = 0"
            assert {row for (row,) in rows(context, of_two)} == {known.query_id}
            assert (reads_of_profiles(context, monkeypatch, of_two) >= 10) == (name == "operators")
            table = context.catalog.system_table("sys", name)
            assert table is not None
            parts = [part.num_rows for part in table]
            assert len(parts) > 3
            assert max(parts[1:]) <= 4 * len(before[1])


def test_users_see_rows_of_their_own(context: sharkpy.SharkContext) -> None:
    context.sql("SELECT sum(g) AS hidden FROM t").fetchall()
    guest = context.new_session(shark_user="ada")
    guest.restrictions = Restrictions(guards_settings=True, sees_own_statements=True)
    guest.sql("SELECT sum(g) AS own FROM t").fetchall()
    assert rows(guest, "SELECT DISTINCT `user` FROM sys.queries") == [("ada",)]
    seen = "SELECT count(DISTINCT query_id) FROM sys.operators WHERE label LIKE 'HashAggregate%sum%'"
    assert rows(guest, seen) == [(1,)]
    assert rows(context, seen) == [(2,)]
