"""The page of results: `RESULTS.md` and its charts, from the JSON files of the suites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.charts import Group, columns, ratio_bars
from bench.engines import CORES
from bench.figure import Row, number
from bench.results import RESULTS, Run, read_runs
from bench.suites import SUITES

_HEAD = f"""# Benchmarks

`python -m bench SUITE` records all figures of a run in [results](results)`/SUITE.json`. `make bench-report` writes this
page from those files: the key figures of the newest run of each measurement. Older runs are in git.

- **Peers:** after a value, how many times better sharkpy is: faster, or smaller. Below 1 the peer is better.
- **Conditions:** engines run in turn with {CORES} threads. Answers are compared. Medians of warm runs, planned once.
- **Engines:** `sharkpy-rdd` runs every stage as an RDD job. Spark SQL reads `CACHE TABLE`; DuckDB has native tables."""


class Place(NamedTuple):
    """Place and time of measured runs; runs of several suites may share one."""

    commit: str
    date: str
    machine: str
    python: str


def write_report(folder: Path = RESULTS) -> Path:
    """Write the charts into `folder`, and the page into its parent folder."""
    runs = read_runs(folder)
    for path in folder.glob("*.svg"):
        path.unlink()
    for name, chart in charts(runs).items():
        (folder / name).write_text(chart, encoding="utf-8")
    page = folder.parent / "RESULTS.md"
    page.write_text(report(runs), encoding="utf-8")
    return page


def charts(runs: Sequence[Run]) -> dict[str, str]:
    """Charts by the names of their files: one for the queries of each suite, one for all key figures with peers."""
    shown = _shown(runs)
    compared = [(run, row) for run in shown for row in _key_rows(run) if "ours" in row]
    ratios: list[Group] = [(f"{run.name} {row['measurement']}: {row['what']}", row["ratio"]) for run, row in compared]
    found = {_chart_name(run): columns(run.name, "ms", _queries(run)) for run in shown if _queries(run)}
    return {**found, "peers.svg": ratio_bars("Times better than each peer", ratios)}


def report(runs: Sequence[Run]) -> str:
    shown = _shown(runs)
    places = sorted(dict.fromkeys(map(_place, shown)), key=lambda place: place.date, reverse=True)
    of_suites, compared = list[list[str]](), list[list[str]]()
    alone: dict[tuple[str, str, str], list[str]] = {}
    for run in shown:
        place = str(places.index(_place(run)) + 1)
        for row in _key_rows(run):
            if "ours" not in row:
                alone.setdefault((run.name, row["measurement"], place), []).append(f"{row['what']}: {row['value']}")
            elif run.suite in SUITES:
                of_suites.append([run.name, *_cells(row), place])
            else:
                compared.append([run.name, row["measurement"], *_cells(row), place])
    lines = [
        _HEAD,
        "\n## Queries over tables in memory\n",
        " ".join(f"![{run.name}](results/{_chart_name(run)})" for run in shown if _queries(run)) + "\n",
        *_table(("suite", "figure", "sharkpy", "peers", "run"), of_suites),
        "\n## Files, buckets, streams, learning, server, decisions at run time\n",
        "![Times better than each peer](results/peers.svg)\n",
        *_table(("suite", "measurement", "figure", "sharkpy", "peers", "run"), compared),
        "\n## sharkpy alone\n",
        *_table(
            ("suite", "measurement", "figures", "run"),
            [[suite, name, "; ".join(texts), place] for (suite, name, place), texts in alone.items()],
        ),
        "\n## Runs\n",
        *_table(
            ("run", "commit", "date", "suites", "machine", "versions", "notes"),
            [[str(number), *_conditions(place, shown)] for number, place in enumerate(places, 1)],
        ),
    ]
    return "\n".join(lines) + "\n"


def text_of(run: Run) -> str:
    """All figures of a run, for the terminal."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    head = f"## {run.name}, {run.date}\n\nCommit {run.commit}; {run.machine}; {versions}. {run.note}".rstrip()
    rows = [
        [row["measurement"], *(_cells(row) if "ours" in row else (row["what"], row["value"], ""))] for row in run.rows
    ]
    return "\n".join([head, "", *_table(("measurement", "figure", "sharkpy", "peers (times better)"), rows)])


def _shown(runs: Iterable[Run]) -> list[Run]:
    """Runs with key figures: suites of queries first."""
    order = {suite: place for place, suite in enumerate(SUITES)}
    found = [run for run in runs if _key_rows(run)]
    return sorted(found, key=lambda run: (order.get(run.suite, len(order)), run.suite, run.scale))


def _key_rows(run: Run) -> list[Row]:
    return [row for row in run.rows if row.get("is_key")]


def _queries(run: Run) -> list[Group]:
    """Times of single queries of a suite, for its chart."""
    queries = [row for row in run.rows if run.suite in SUITES and row["measurement"] == "queries"]
    rows = [row for row in queries if re.fullmatch(r"\d+(\.\d+)?\w?", row["what"])]
    return [(row["what"], {"sharkpy": row["ours"], **row["peers"]}) for row in rows]


def _chart_name(run: Run) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", run.name.lower()) + ".svg"


def _place(run: Run) -> Place:
    return Place(run.commit, run.date, run.machine, run.versions.get("Python", ""))


def _conditions(place: Place, runs: Iterable[Run]) -> list[str]:
    mine = [run for run in runs if _place(run) == place]
    suites = ", ".join(dict.fromkeys(run.suite for run in mine))
    versions = {name: version for run in mine for name, version in run.versions.items()}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    notes = " ".join(dict.fromkeys(run.note for run in mine if run.note))
    return [place.commit, place.date, suites, place.machine, listed, notes]


def _cells(row: Row) -> tuple[str, str, str]:
    """The figure, our value, and the values of peers with ratios."""
    peers = [
        f"{name} {number(value)}" + (f" ({number(row['ratio'][name])}x)" if name in row["ratio"] else "")
        for name, value in row["peers"].items()
    ]
    return row["what"], f"{number(row['ours'])} {row['unit']}", ", ".join(peers)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
