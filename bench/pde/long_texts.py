"""New texts that are long: a list of a million numbers, rows, select lists, chains and levels, each of them planned."""

from __future__ import annotations

import statistics
import tempfile
import time

import sharkpy
from bench.figure import Figure

_TEXTS: tuple[tuple[str, str, float | None], ...] = (
    ("2,000 expressions", "SELECT " + ", ".join(f"a + {n} c{n}" for n in range(2_000)) + " FROM t", 1.0),
    ("1,000,000 integers in IN", f"SELECT 1 IN ({', '.join(map(str, range(1_000_000)))})", 3.0),
    (
        "1,000,000 integers beside a column",
        f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(1_000_000)))})",
        3.0,
    ),
    ("100,000 strings in IN", "SELECT 'x' IN (" + ", ".join(f"'x{n}'" for n in range(100_000)) + ")", 1.0),
    ("20,000 rows of VALUES", "SELECT * FROM VALUES " + ", ".join(f"({n}, 'x')" for n in range(20_000)), None),
    ("20,000 equalities in OR", "SELECT a FROM t WHERE " + " OR ".join(f"a = {n}" for n in range(20_000)), None),
    ("20,000 inequalities in AND", "SELECT a FROM t WHERE " + " AND ".join(f"a <> {n}" for n in range(20_000)), None),
    ("20,000 SELECTs in UNION ALL", " UNION ALL ".join(["SELECT 1"] * 20_000), None),
    ("12 levels of BETWEEN", "SELECT " + "(" * 12 + "a" + " BETWEEN 1 AND 2)" * 12 + " FROM t", 1.0),
)
"""Name of a text, the text, and the seconds that its first run may take."""
_KEY = ("2,000 expressions", "1,000,000 integers in IN", "20,000 rows of VALUES")


def measure(runs: int) -> list[Figure]:
    seconds: dict[str, list[float]] = {what: [] for what, _, _ in _TEXTS}
    for _ in range(runs):
        with (
            tempfile.TemporaryDirectory(prefix="long-texts-") as folder,
            sharkpy.connect("local[2]", folder) as context,
        ):
            context.sql("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS a")
            context.sql("SELECT sum(a) FROM t").fetchall()
            for what, text, _ in _TEXTS:
                start = time.perf_counter()
                context.sql(text).fetchall()
                seconds[what].append(time.perf_counter() - start)
    return [_figure(what, statistics.median(seconds[what]), most) for what, _, most in _TEXTS]


def _figure(what: str, seconds: float, most: float | None) -> Figure:
    aims = ("", None) if most is None else (f"{most:g} s at most", seconds <= most)
    return Figure(what, f"{seconds:.2f} s", *aims, is_key=what in _KEY)
