"""Results of benchmarks: what a run records, and the page that is written from the records."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.figure import Figure, comparison, number, ratios
from bench.report import charts, report, text_of, write_report
from bench.results import RESULTS, Run, read_runs, record
from bench.suite_figures import suite_figures
from bench.suites import Rate

RUN = Run("pde", "2026-01-02", "1234abcd", "a machine", {"Python": "3.11.7"}, 1.0)


def run_of(*figures: tuple[str, Figure], suite: str = "pde", commit: str = "1234abcd", scale: float = 1.0) -> Run:
    rows = [figure.row(measurement) for measurement, figure in figures]
    return replace(RUN, suite=suite, commit=commit, scale=scale, rows=rows)


def test_ratios_tell_how_many_times_better() -> None:
    assert ratios("ms", 10.0, {"slower": 40.0, "faster": 5.0}) == {"slower": 4.0, "faster": 0.5}
    assert ratios("M rows/s", 10.0, {"slower": 5.0}) == {"slower": 2.0}
    assert ratios("ms", 0.0, {"any": 1.0}) == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0123456, "0.0123"), (62.04, "62"), (0.6, "0.6"), (1234.56, "1,235"), (100, "100"), (0, "0")],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_figures_come_whole_from_another_process() -> None:
    figure = comparison("scan", "ms", 2.0, {"DuckDB": 4.0}, "at most 3 times", met=True, is_key=True)
    assert Figure(**asdict(figure)) == figure
    assert figure.value == "2 ms; DuckDB 4 ms (2x)"
    row = figure.row("scans")
    assert (row["measurement"], row["unit"], row["ours"], row["peers"]) == ("scans", "ms", 2.0, {"DuckDB": 4.0})
    assert (row["ratio"], row["is_key"]) == ({"DuckDB": 2.0}, True)
    assert "met" not in row


def test_newer_rows_replace_those_of_the_same_measurement_and_scale(tmp_path: Path) -> None:
    figure = Figure("rows", "1")
    record(run_of(("skew", figure), ("top_n", figure), commit="old"), tmp_path)
    record(run_of(("skew", figure), commit="small", scale=0.1), tmp_path)
    record(run_of(("skew", Figure("rows", "2")), commit="new"), tmp_path)
    found = [(run.commit, [(row["measurement"], row["value"]) for row in run.rows]) for run in read_runs(tmp_path)]
    assert found == [("old", [("top_n", "1")]), ("small", [("skew", "1")]), ("new", [("skew", "2")])]
    record(run_of(("top_n", figure), ("skew", figure), commit="whole"), tmp_path)
    assert [run.commit for run in read_runs(tmp_path)] == ["small", "whole"]


def test_the_page_has_key_figures_and_their_runs(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    join = comparison("a join", "ms", 10.0, {"static plan": 40.0, "a <peer>": 5.0}, is_key=True)
    idle = Figure("share", "1 %", is_key=True)
    record(run_of(("join", join), ("join", Figure("rules", "all")), ("idle", idle)), folder)
    query = comparison("1", "ms", 2.0, {"DuckDB": 1.0})
    mean = replace(query, what="geometric mean of 1 queries", is_key=True)
    record(run_of(("queries", query), ("queries", mean), suite="tpch", commit="5678abcd", scale=0.1), folder)
    page = write_report(folder).read_text().splitlines()
    assert "| tpch at scale 0.1 | geometric mean of 1 queries | 2 ms | DuckDB 1 (0.5x) | 1 |" in page
    assert "| pde | join | a join | 10 ms | static plan 40 (4x), a <peer> 5 (0.5x) | 2 |" in page
    assert "| pde | idle | share: 1 % | 2 |" in page
    assert "| 2 | 1234abcd | 2026-01-02 | pde | a machine | Python 3.11.7 |  |" in page
    assert not any("rules" in line for line in page)
    assert {path.name for path in folder.glob("*.svg")} == {"tpch-at-scale-0.1.svg", "peers.svg"}
    for path in folder.glob("*.svg"):
        ElementTree.parse(path)


def test_the_terminal_shows_all_figures() -> None:
    text = text_of(
        run_of(("join", Figure("rules", "a | b")), ("join", comparison("a join", "ms", 1.0, {"other": 2.0})))
    )
    assert "| join | rules | a \\| b |  |" in text.splitlines()
    assert "| join | a join | 1 ms | other 2 (2x) |" in text.splitlines()


def test_figures_of_a_suite() -> None:
    def engine(milliseconds: float, **failed: str) -> dict[str, object]:
        warm = [milliseconds, 0.9 * milliseconds, 1.1 * milliseconds]
        times = {
            "warm_ms": warm,
            "first_ms": 10 * milliseconds,
            "cpu_ms": 2 * milliseconds,
            "new_ms": [3 * milliseconds],
        }
        queries: dict[str, object] = {"1": times, "2": failed}
        return {"queries": queries, "load_s": {"t": 1.0, "s": 2.0}, "bytes": {"t": 3e6, "s": 1e6}, "rows": {"t": 4e6}}

    engines = {"sharkpy": engine(2.0, error="lost"), "spark": engine(8.0, error="lost")}
    figures = suite_figures(engines, (Rate("1", ("t",), 1.3),), ["sharkpy fails on 2: lost"])
    assert [(one.what, one.ours, one.peers) for one in figures["queries"][:5]] == [
        ("1", 2.0, {"Spark SQL": 8.0}),
        ("geometric mean of 1 queries", pytest.approx(2.0), {"Spark SQL": pytest.approx(8.0)}),
        ("sum of 1 queries", 2.0, {"Spark SQL": 8.0}),
        ("first runs, geometric mean of 1 queries", pytest.approx(20.0), {"Spark SQL": pytest.approx(80.0)}),
        ("first runs, sum of 1 queries", 20.0, {"Spark SQL": 80.0}),
    ]
    assert [one.spread for one in figures["queries"][:3]] == [{"Spark SQL": pytest.approx(0.2)}] * 3
    assert figures["queries"][5].value == "sharkpy fails on 2: lost"
    assert [(one.what, one.ours) for one in figures["cpu"]] == [
        ("1", 4.0),
        ("CPU time, geometric mean of 1 queries", pytest.approx(4.0)),
        ("CPU time, sum of 1 queries", 4.0),
    ]
    assert [one.what for one in figures["new_texts"]][1] == "new texts, geometric mean of 1 queries"
    assert [(one.what, one.peers) for one in figures["load"]] == [("load of all tables", {"Spark SQL": 3.0})]
    assert [(one.what, one.ours) for one in figures["memory"]] == [("memory of all tables", 4.0), ("memory of t", 3.0)]
    assert figures["rates"][0].peers == {"Spark SQL": 250.0, "Shark, 2014": 1.3}
    assert [key for key, found in figures.items() for one in found if one.is_key] == ["queries", "memory"]


def test_the_noise_of_a_mean_is_less_than_that_of_its_queries() -> None:
    warm = {"warm_ms": [10.0, 9.0, 11.0], "first_ms": 1.0, "cpu_ms": 1.0, "new_ms": []}
    one = {"queries": {str(query): warm for query in range(4)}, "load_s": {"t": 1.0}, "bytes": {"all": 1}, "rows": {}}
    figures = suite_figures({"sharkpy": one, "duckdb": one}, (), [])
    spreads = {figure.what: figure.spread for figure in figures["queries"]}
    assert spreads["0"] == {"DuckDB": pytest.approx(0.2)}
    assert spreads["geometric mean of 4 queries"] == spreads["sum of 4 queries"] == {"DuckDB": pytest.approx(0.1)}
    assert spreads["first runs, sum of 4 queries"] == {}
    assert figures["memory"][0].spread == {"DuckDB": 0.0}
    assert "new_texts" not in figures


def test_the_page_in_the_repository_is_that_of_its_records() -> None:
    runs = read_runs()
    page = (RESULTS.parent / "RESULTS.md").read_text()
    assert page == report(runs), "make bench-report"
    assert len(page.splitlines()) <= 120
    assert {path.name: path.read_text() for path in RESULTS.glob("*.svg")} == charts(runs)
