"""python -m bench SUITE [--scale 1], with a SUITE of queries (tpch, tpcds, bigdata, clickbench, h2o), `micro`, or a
package of measurements (pde, server, files, shapes, ml, streaming, lake, refresh, beside).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.compare import difference
from bench.engines import EngineOptions
from bench.measurements import run_measurements
from bench.report import append, suite_report
from bench.suites import ROOT, SUITES

MEASURED = ("pde", "server", "files", "shapes", "ml", "streaming", "lake", "refresh", "beside")
"""Packages of measurements against aims."""
ENGINES = "sharkpy,sharkpy-rdd,spark,duckdb"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "micro", *MEASURED])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--engines", default=ENGINES)
    parser.add_argument("--queries", help="names, separated by commas (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="warm runs of each query")
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    parser.add_argument("--memory", default="", help="such as 10g: limit of sharkpy's store, and of the other engines")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of sharkpy")
    parser.add_argument("--no-append", action="store_true", help="leave RESULTS.md as it is")
    parser.add_argument("--checkout", type=Path, help="of `beside`: the other checkout, such as a git worktree")
    options = parser.parse_args()
    if (options.suite == "beside") != (options.checkout is not None):
        parser.error("beside takes --checkout, and nothing else does")
    if options.suite == "micro":
        from bench.micro_suite import run_micro

        text, figures = run_micro(options.runs)
        differences: list[str] = []
    elif options.suite in MEASURED:
        text, figures = run_measurements(options.suite, options.runs, options.queries, options.scale, options.checkout)
        differences = [f"{name} failed" for name, found in figures.items() if not found]
    else:
        figures, differences = run_suite(options)
        text = suite_report(options.suite, options.scale, figures, differences, _conditions(options))
    print(text)
    if not options.no_append:
        append(text)
    if options.json:
        record = {"suite": options.suite, "scale": options.scale, "engines": figures}
        options.json.write_text(json.dumps(record, indent=1))
    return 1 if differences else 0


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
            arguments = [options.suite, engine, options.scale, max(options.runs, 3), options.queries or "all", folder]
            command = [sys.executable, "-m", "bench.run_engine", *map(str, arguments), json.dumps(asdict(limits))]
            environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
            subprocess.run(command, check=True, cwd=ROOT.parent, env=environment)
            figures[engine] = json.loads((folder / "figures.json").read_text())
        return figures, _differences(figures, Path(answers))


def _conditions(options: argparse.Namespace) -> str:
    limit = f"Memory limit {options.memory}: of sharkpy's store, of DuckDB, of Spark's heap." if options.memory else ""
    conf = f"sharkpy with {', '.join(options.conf)}." if options.conf else ""
    return f"{limit} {conf}".strip()


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
