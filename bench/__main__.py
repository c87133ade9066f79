"""python -m bench SUITE [--scale 1], with a SUITE of queries (tpch, tpcds, bigdata, clickbench, h2o, ssb), `micro`,
or a package of measurements (pde, server, files, shapes, ml, streaming, lake, refresh, growth, `beside`); figures go
to bench/results/SUITE.json. python -m bench report writes bench/RESULTS.md from these files.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.check import MINIMUM, MINIMUM_OF_KEYS, check
from bench.compare import difference
from bench.engines import EngineOptions
from bench.measurements import libraries, run_measurements
from bench.report import text_of, write_report
from bench.results import RESULTS, Run, commit, read_runs, record, this_run
from bench.suite_figures import suite_figures
from bench.suites import ROOT, SUITES

MEASURED = ("pde", "server", "files", "shapes", "ml", "streaming", "lake", "refresh", "growth", "beside")
"""Packages of measurements."""
ENGINES = "sharkpy,sharkpy-rdd,spark,duckdb"
_CHECK = (
    "exit with 1, record nothing and list the ratios that are worse than in the recorded run of this suite, scale and "
    "settings by more than the noise, in this run and in a second one. Noise is the ratio's spread in the recorded run "
    "plus its spread in the new one (interquartile range of warm runs over their median, of sharkpy plus of the peer), "
    f"at least {MINIMUM_OF_KEYS:.0%} for the mean of all queries and for memory, and {MINIMUM:.0%} for other figures"
).replace("%", "%%")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "micro", *MEASURED, "report"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--engines", default=ENGINES)
    parser.add_argument("--queries", help="names, separated by commas (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="warm runs of each query")
    parser.add_argument(
        "--new-texts", action="store_true", help="also run each query as texts that are new to the engine"
    )
    parser.add_argument("--memory", default="", help="such as 10g: limit of sharkpy's store, and of the other engines")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of sharkpy")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the JSON file")
    parser.add_argument("--no-record", action="store_true", help="print the figures alone")
    parser.add_argument("--check", action="store_true", help=_CHECK)
    parser.add_argument("--checkout", type=Path, help="of `beside`: the other checkout, such as a git worktree")
    options = parser.parse_args()
    if (options.suite == "beside") != (options.checkout is not None):
        parser.error("beside takes --checkout, and nothing else does")
    if options.suite == "report":
        print(write_report(options.results))
        return 0
    run, is_right = _run(options)
    print(text_of(run))
    if options.check:
        recorded = read_runs(options.results)
        checked = check(run, recorded)
        print(checked)
        if checked.worse:
            print("a second run decides", file=sys.stderr)
            run, is_right = _run(options)
            checked = check(run, recorded).confirming(checked)
            print(text_of(run), checked, sep="\n")
        if checked.worse:
            return 1
    # The mean of some queries is not that of all.
    if run.rows and not options.no_record and not (options.suite in SUITES and options.queries):
        print(f"recorded in {record(run, options.results)}", file=sys.stderr)
    return 0 if is_right else 1


def _run(options: argparse.Namespace) -> tuple[Run, bool]:
    """Run of the suite, and whether nothing failed and all answers were equal."""
    suite, scale = options.suite, options.scale
    if suite == "micro":
        from bench.micro_suite import run_micro

        run = this_run(suite, scale, ("pyspark", "duckdb", "thrift"))
        return run.measured(run_micro(options.runs)), True
    if suite in MEASURED:
        run = this_run(suite, scale, libraries(suite))
        if options.checkout:
            run = replace(run, note=f"Beside commit {commit(options.checkout)}.")
        found = run_measurements(suite, options.runs, options.queries, scale, options.checkout)
        return run.measured(found), all(found.values())
    run = this_run(suite, scale)
    limit = {"memory": options.memory} if options.memory else {}
    settings = {**run.settings, **limit, **dict(one.split("=", 1) for one in options.conf)}
    engines, differences = run_suite(options)
    versions = {key: value for one in engines.values() for key, value in one["versions"].items()}
    run = replace(run, settings=settings, versions={**run.versions, **versions})
    return run.measured(suite_figures(engines, SUITES[suite].rates, differences)), not differences


def run_suite(options: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Figures by engine, and where answers differ."""
    data = SUITES[options.suite].data(options.scale)
    limits = EngineOptions(str(data.parent), options.memory, dict(one.split("=", 1) for one in options.conf))
    figures: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="sharkpy-bench-answers-") as answers:
        for engine in options.engines.split(","):
            folder = Path(answers) / engine
            folder.mkdir()
            print(f"{options.suite} on {engine}", file=sys.stderr)
            runs = max(options.runs, 3)
            new_texts = runs if options.new_texts else 0
            arguments = [options.suite, engine, options.scale, runs, new_texts, options.queries or "all", folder]
            command = [sys.executable, "-m", "bench.run_engine", *map(str, arguments), json.dumps(asdict(limits))]
            environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
            subprocess.run(command, check=True, cwd=ROOT.parent, env=environment)
            figures[engine] = json.loads((folder / "figures.json").read_text())
        return figures, _differences(figures, Path(answers))


def _differences(figures: dict[str, dict[str, Any]], answers: Path) -> list[str]:
    found = [
        f"{engine} fails on {name}: {query['error']}"
        for engine, one in figures.items()
        for name, query in one["queries"].items()
        if "error" in query
    ]
    first, *others = figures
    for engine, name in itertools.product(others, figures[first]["queries"]):
        paths = [answers / one / f"{name}.arrow" for one in (first, engine)]
        if all(path.exists() for path in paths):
            one, other = (pa.ipc.open_file(path).read_all() for path in paths)
            if what := difference(one, other):
                found.append(f"query {name}: {first} and {engine} differ: {what}")
    return found


if __name__ == "__main__":
    sys.exit(main())
