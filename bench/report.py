"""Tables of figures: printed, and appended to RESULTS.md."""

from __future__ import annotations

import datetime
import math
import os
import platform
from pathlib import Path
from typing import Any

from bench.engines import CORES
from bench.suites import SUITES, Rate

RESULTS = Path(__file__).parent / "RESULTS.md"


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def machine() -> str:
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB; Python {platform.python_version()}"


def suite_report(
    suite: str, scale: float, figures: dict[str, Any], differences: list[str], conditions: str = ""
) -> str:
    """Report of a suite as Markdown: medians by query, geometric means, ratios to the first engine, loads and bytes."""
    engines = list(figures)
    names = list(dict.fromkeys(name for engine in engines for name in figures[engine]["queries"]))
    versions = {key: value for engine in engines for key, value in figures[engine]["versions"].items()}
    lines = [
        f"## {suite} at scale {scale:g}, {datetime.date.today().isoformat()}",
        "",
        f"{machine()}; " + ", ".join(f"{key} {value}" for key, value in versions.items()) + ". Warm medians in ms.",
        *([conditions] if conditions else []),
        "",
        "| query | " + " | ".join(engines) + " |",
        "|---" + "|---:" * len(engines) + "|",
    ]
    for name in names:
        cells = [_cell(figures[engine]["queries"].get(name)) for engine in engines]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    common = [name for name in names if all("median_ms" in figures[e]["queries"].get(name, {}) for e in engines)]
    means = [geometric_mean([figures[e]["queries"][name]["median_ms"] for name in common]) for e in engines]
    totals = [sum(figures[e]["queries"][name]["median_ms"] for name in common) for e in engines]
    lines += [
        _row(f"geometric mean of {len(common)}", means, ".1f"),
        _row("sum", totals, ".0f"),
        _row("load, s", [sum(figures[e]["load_s"].values()) for e in engines], ".2f"),
        _row("bytes of the tables, MB", [sum(figures[e]["bytes"].values()) / 1e6 for e in engines], ".1f"),
        "",
    ]
    lines += _largest_table(figures, engines)
    lines += _rates(SUITES[suite].rates, figures, names)
    if len(engines) > 1:
        lines += [f"Geometric mean against {engines[0]}: " + _ratios(engines, means), ""]
    lines += ["Answers: " + ("; ".join(differences) or "equal on all engines."), ""]
    return "\n".join(lines)


def append(text: str) -> None:
    if not RESULTS.exists():
        title = "# Results of `python -m bench`\n\nNewest last; each table is one run.\n\n"
        RESULTS.write_text(title, encoding="utf-8")
    with RESULTS.open("a", encoding="utf-8") as stream:
        stream.write(text + "\n")


def _cell(query: dict[str, Any] | None) -> str:
    if query is None:
        return "-"
    return f"{query['median_ms']:.1f}" if "median_ms" in query else "failed"


def _row(title: str, values: list[float], form: str) -> str:
    return f"| {title} | " + " | ".join(format(value, form) for value in values) + " |"


def _ratios(engines: list[str], means: list[float]) -> str:
    return ", ".join(f"{engine} {mean / means[0]:.2f}x" for engine, mean in zip(engines[1:], means[1:], strict=True))


def _rates(rates: tuple[Rate, ...], figures: dict[str, Any], names: list[str]) -> list[str]:
    """Million rows a second and core, for suites that ask for it."""
    if not rates:
        return []
    engines = list(figures)
    lines = [
        f"Million rows a second and core ({CORES} cores):",
        "",
        "| query | million rows | " + " | ".join(engines) + " | Shark, 2014 |",
        "|---|---:" + "|---:" * len(engines) + "|---:|",
    ]
    for name in names:
        for rate in rates:
            if name.startswith(rate.prefix):
                rows = sum(figures[engines[0]]["rows"][table] for table in rate.tables) / 1e6
                cells = [_speed(rows, figures[engine]["queries"].get(name)) for engine in engines]
                lines.append(f"| {name} | {rows:.2f} | " + " | ".join(cells) + f" | {rate.shark or '-'} |")
    return [*lines, ""]


def _speed(million_rows: float, query: dict[str, Any] | None) -> str:
    if query is None or "median_ms" not in query:
        return "-"
    return f"{million_rows * 1000 / query['median_ms'] / CORES:.2f}"


def _largest_table(figures: dict[str, dict[str, Any]], engines: list[str]) -> list[str]:
    sizes = {engine: figures[engine]["bytes"] for engine in engines}
    named = [set(one) for one in sizes.values() if "all" not in one]
    shared = set.intersection(*named) if named else set()
    if not shared:
        return []
    table = max(shared, key=lambda name: max(one.get(name, 0) for one in sizes.values()))
    parts = [f"{engine} {one[table] / 1e6:.1f} MB" for engine, one in sizes.items() if table in one]
    return [f"`{table}` in memory: " + ", ".join(parts) + ".", ""]
