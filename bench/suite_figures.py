"""Figures of a suite of queries: each query, their mean, loading, memory, compared with the other engines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from operator import mul
from statistics import median, quantiles
from typing import Any

from bench.engines import CORES
from bench.figure import NO_SPREAD, Figure, comparison, geometric_mean
from bench.suites import Rate

NAMES = {"spark": "Spark SQL", "duckdb": "DuckDB"}
"""Engines by their names in results, if these differ."""
Engines = Mapping[str, dict[str, Any]]
"""Measurements of each engine's process; the first engine is compared with the other engines."""


Times = Mapping[str, Mapping[str, list[float]]]
"""Milliseconds of repeated runs, by query and engine."""


def suite_figures(engines: Engines, rates: tuple[Rate, ...], differences: list[str]) -> dict[str, list[Figure]]:
    """Figures by measurement. Means and sums are of the queries that all engines answered."""
    warm, first, cpu, new = (_times(engines, key) for key in ("warm_ms", "first_ms", "cpu_ms", "new_ms"))
    different = Figure("answers that differ, and failures", "; ".join(differences) or "none", "none", not differences)
    loads = {name: sum(one["load_s"].values()) for name, one in engines.items()}
    figures = {
        "queries": [*_queries(engines, warm), *_totals(engines, warm, is_key=True)],
        "cpu": [*_queries(engines, cpu), *_totals(engines, cpu, "CPU time, ")],
        "new_texts": [*_queries(engines, new), *_totals(engines, new, "new texts, ")],
        "load": [_figure("load of all tables", "s", loads)],
        "memory": list(_memory(engines)),
        "rates": list(_rates(rates, engines, _medians(warm))),
    }
    figures["queries"] += [*_totals(engines, first, "first runs, "), different]
    return {measurement: found for measurement, found in figures.items() if found}


def _times(engines: Engines, key: str) -> Times:
    """Times of the queries that an engine answered."""
    names = dict.fromkeys(query for one in engines.values() for query in one["queries"])
    found = {
        query: {name: one["queries"].get(query, {}).get(key, []) for name, one in engines.items()} for query in names
    }
    return {
        query: {name: value if isinstance(value, list) else [value] for name, value in one.items() if value}
        for query, one in found.items()
    }


def _medians(times: Times) -> dict[str, dict[str, float]]:
    return {query: {name: median(one) for name, one in found.items()} for query, found in times.items()}


def _queries(engines: Engines, times: Times) -> list[Figure]:
    ours = next(iter(engines))
    return [
        _figure(query, "ms", values, {name: _spread(one) for name, one in times[query].items() if len(one) > 1})
        for query, values in _medians(times).items()
        if ours in values
    ]


def _totals(engines: Engines, times: Times, prefix: str = "", *, is_key: bool = False) -> list[Figure]:
    """Geometric mean and sum. The noise of single queries is independent: in a mean, much of it cancels out."""
    common = [query for query, found in times.items() if len(found) == len(engines)]
    if not common:
        return []
    medians = {name: [median(times[query][name]) for query in common] for name in engines}
    spreads = {name: [_spread(times[query][name]) for query in common] for name in engines}
    is_repeated = all(len(one) > 1 for query in common for one in times[query].values())
    sums = {name: sum(one) for name, one in medians.items()}
    of_means = {name: math.hypot(*one) / len(common) for name, one in spreads.items()}
    of_sums = {name: math.hypot(*map(mul, medians[name], one)) / sums[name] for name, one in spreads.items()}
    means = {name: geometric_mean(one) for name, one in medians.items()}
    queries = f"of {len(common)} queries"
    return [
        _figure(
            f"{prefix}geometric mean {queries}", "ms", means, of_means if is_repeated else NO_SPREAD, is_key=is_key
        ),
        _figure(f"{prefix}sum {queries}", "ms", sums, of_sums if is_repeated else NO_SPREAD),
    ]


def _spread(values: list[float]) -> float:
    """Interquartile range over median."""
    if len(values) == 1:
        return 0.0
    low, middle, high = quantiles(values, method="inclusive")
    return (high - low) / middle


def _figure(
    what: str, unit: str, values: Mapping[str, float], spreads: Mapping[str, float] = NO_SPREAD, *, is_key: bool = False
) -> Figure:
    ours, *others = values
    peers = {NAMES.get(name, name): values[name] for name in others}
    spread = {NAMES.get(name, name): spreads[ours] + spreads[name] for name in others if spreads}
    return comparison(what, unit, values[ours], peers, is_key=is_key, spread=spread)


def _memory(engines: Engines) -> Iterator[Figure]:
    """All tables, and the largest table that all engines with sizes by table report."""
    sizes = {name: one["bytes"] for name, one in engines.items()}
    totals = {name: sum(one.values()) / 1e6 for name, one in sizes.items()}
    yield _figure("memory of all tables", "MB", totals, dict.fromkeys(totals, 0.0), is_key=True)
    apart = {name: one for name, one in sizes.items() if "all" not in one}
    shared = set.intersection(*map(set, apart.values())) if next(iter(engines)) in apart else set()
    if shared:
        table = max(shared, key=lambda name: max(one[name] for one in apart.values()))
        yield _figure(f"memory of {table}", "MB", {name: one[table] / 1e6 for name, one in apart.items()})


def _rates(rates: tuple[Rate, ...], engines: Engines, medians: Mapping[str, Mapping[str, float]]) -> Iterator[Figure]:
    """Million rows a second and core."""
    first = next(iter(engines))
    num_rows = engines[first]["rows"]
    for query, times in medians.items():
        for rate in rates:
            if query.startswith(rate.prefix) and first in times:
                rows = sum(num_rows[table] for table in rate.tables) / 1000
                values = {name: rows / milliseconds / CORES for name, milliseconds in times.items()}
                shark = {} if rate.shark is None else {"Shark, 2014": rate.shark}
                yield _figure(f"{query}, a core", "M rows/s", {**values, **shark})
