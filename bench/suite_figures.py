"""Figures of a suite of queries: each query, their mean, loading, memory, compared with the other engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.engines import CORES
from bench.figure import Figure, comparison, geometric_mean
from bench.suites import Rate

NAMES = {"spark": "Spark SQL", "duckdb": "DuckDB"}
"""Engines by their names in results, if these differ."""
Engines = Mapping[str, dict[str, Any]]
"""Measurements of each engine's process; the first engine is compared with the other engines."""


def suite_figures(engines: Engines, rates: tuple[Rate, ...], differences: list[str]) -> dict[str, list[Figure]]:
    """Figures by measurement. Means and sums are of the queries that all engines answered."""
    found = {name: one["queries"] for name, one in engines.items()}
    names = list(dict.fromkeys(query for queries in found.values() for query in queries))
    medians = {
        query: {name: queries[query]["median_ms"] for name, queries in found.items() if _is_answered(queries, query)}
        for query in names
    }
    common = [query for query in names if len(medians[query]) == len(engines)]
    totals = []
    if common:
        firsts = {name: [queries[query]["first_ms"] for query in common] for name, queries in found.items()}
        warm = {name: [medians[query][name] for query in common] for name in engines}
        totals = [
            _figure(f"geometric mean of {len(common)} queries", "ms", _means(warm), is_key=True),
            _figure("geometric mean of their first runs", "ms", _means(firsts)),
            _figure("their sum", "ms", {name: sum(times) for name, times in warm.items()}),
        ]
    queries = [_figure(query, "ms", medians[query]) for query in names if next(iter(engines)) in medians[query]]
    different = Figure("answers that differ, and failures", "; ".join(differences) or "none", "none", not differences)
    loads = {name: sum(one["load_s"].values()) for name, one in engines.items()}
    return {
        "queries": [*queries, *totals, different],
        "load": [_figure("load of all tables", "s", loads)],
        "memory": list(_memory(engines)),
        **({"rates": list(_rates(rates, engines, medians))} if rates else {}),
    }


def _is_answered(queries: Mapping[str, Any], query: str) -> bool:
    return "median_ms" in queries.get(query, {})


def _means(times: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: geometric_mean(one) for name, one in times.items()}


def _figure(what: str, unit: str, values: Mapping[str, float], *, is_key: bool = False) -> Figure:
    ours, *others = values
    peers = {NAMES.get(name, name): values[name] for name in others}
    return comparison(what, unit, values[ours], peers, is_key=is_key)


def _memory(engines: Engines) -> Iterator[Figure]:
    """All tables, and the largest table that all engines with sizes by table report."""
    sizes = {name: one["bytes"] for name, one in engines.items()}
    yield _figure(
        "memory of all tables", "MB", {name: sum(one.values()) / 1e6 for name, one in sizes.items()}, is_key=True
    )
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
