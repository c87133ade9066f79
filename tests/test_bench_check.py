"""`python -m bench SUITE --check`: a run is compared with the recorded one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import __main__ as bench_main
from bench.check import check
from bench.figure import comparison
from bench.results import Run, read_runs, record

RUN = Run("tpch", "2026-01-02", "old", "a machine", {}, 1.0)
MEAN, QUERY = "geometric mean of 22 queries", "1"


def run_of(
    what: str,
    ratio: float,
    spread: float | None = None,
    *,
    is_key: bool = False,
    peer: str = "DuckDB",
    scale: float = 1,
) -> Run:
    """Run with one figure, whose value is 10 ms."""
    spreads = {} if spread is None else {peer: spread}
    figure = comparison(what, "ms", 10.0, {peer: 10.0 * ratio}, is_key=is_key, spread=spreads)
    return replace(RUN, scale=scale, rows=[figure.row("queries")])


@pytest.mark.parametrize(
    ("before", "now", "is_worse"),
    [
        pytest.param(run_of(QUERY, 0.5, 0.1), run_of(QUERY, 2.0, 0.1), False, id="better"),
        pytest.param(run_of(QUERY, 0.5, 0.1), run_of(QUERY, 0.5, 0.1), False, id="equal"),
        pytest.param(run_of(QUERY, 1.2), run_of(QUERY, 1.0), False, id="within the minimum"),
        pytest.param(run_of(QUERY, 1.3), run_of(QUERY, 1.0), True, id="worse than the minimum"),
        pytest.param(run_of(QUERY, 1.3, 0.2), run_of(QUERY, 1.0, 0.2), False, id="within both spreads"),
        pytest.param(run_of(QUERY, 1.5, 0.2), run_of(QUERY, 1.0, 0.2), True, id="worse than both spreads"),
        pytest.param(run_of(MEAN, 1.2, 0.0), run_of(MEAN, 1.0, 0.0, is_key=True), True, id="a worse mean"),
        pytest.param(run_of(MEAN, 1.09, 0.0), run_of(MEAN, 1.0, 0.0, is_key=True), False, id="a mean within noise"),
        pytest.param(run_of(MEAN, 1.2), run_of(MEAN, 1.0, is_key=True), False, id="a key figure without a spread"),
    ],
)
def test_ratios_that_got_worse(before: Run, now: Run, *, is_worse: bool) -> None:
    found = check(now, [replace(before, scale=10.0), before])
    assert (found.num_compared, bool(found.worse)) == (1, is_worse)


@pytest.mark.parametrize(
    "other",
    [run_of(QUERY, 9.0, scale=10), run_of(MEAN, 9.0), run_of(QUERY, 9.0, peer="Spark SQL")],
    ids=["scale", "figure", "peer"],
)
def test_no_earlier_record(other: Run) -> None:
    found = check(run_of(QUERY, 1.0), [other])
    assert (found.num_compared, found.worse) == (0, ())
    assert str(found) == "nothing to compare: no recorded run has these figures"


def test_a_worse_run_is_listed_and_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(*runs: Run, options: tuple[str, ...] = ("--check",)) -> int:
        coming = iter(runs)
        monkeypatch.setattr(bench_main, "_run", lambda _: (next(coming), True))
        monkeypatch.setattr(sys, "argv", ["bench", "tpch", "--results", str(tmp_path), *options])
        return bench_main.main()

    record(run_of(QUERY, 2.0), tmp_path)
    worse, better = replace(run_of(QUERY, 0.5), commit="worse"), replace(run_of(QUERY, 1.9), commit="better")
    assert main(worse, worse) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "1 of 1 ratios are worse than in the recorded run old of 2026-01-02 on a machine",
        "  queries, 1: 0.5x instead of 2x DuckDB, 300% worse; noise is up to 25%",
    ]
    assert [run.commit for run in read_runs(tmp_path)] == ["old"]
    assert main(worse, better) == 0, "the second run did not confirm it"
    assert [run.commit for run in read_runs(tmp_path)] == ["better"]
    assert main(worse, options=()) == 0
    assert [run.commit for run in read_runs(tmp_path)] == ["worse"]


def test_a_second_run_confirms_what_was_worse_in_the_first() -> None:
    recorded = [replace(RUN, rows=[*run_of(QUERY, 2.0).rows, *run_of(MEAN, 2.0).rows])]
    first, second = check(run_of(QUERY, 0.5), recorded), check(run_of(MEAN, 0.5), recorded)
    assert (len(first.worse), len(second.worse), second.confirming(first).worse) == (1, 1, ())
    assert first.confirming(first).worse == first.worse
