"""A backlog is worked off: rows a second of a continuous table, compared with peers over the same files or topic."""

from __future__ import annotations

import datetime
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

from bench.figure import Figure, comparison
from bench.streaming.engines import ENGINES
from bench.streaming.events import EVENTS, FILES, FORM_NAMES, events

_WANTED = {"DuckDB, one batch": 0.8, "ClickHouse's view (chDB)": 1.0, "Spark Structured Streaming": 3.0}
"""Least ratio of sharkpy's rate to each peer's rate."""


def append_figures(form: str, runs: int, scale: float) -> list[Figure]:
    """Rates over files of one form."""
    rows = max(FILES, int(EVENTS * scale))
    names = [name for name in ENGINES if "chDB" not in name or importlib.util.find_spec("chdb") is not None]
    what = f"append, {rows:,} events of {FORM_NAMES[form]} files"
    return compared(what, "engines", names, [form, str(events(form, rows))], rows, runs, _WANTED)


def compared(
    what: str,
    module: str,
    names: Sequence[str],
    place: Sequence[str],
    rows: int,
    runs: int,
    wanted: Mapping[str, float],
) -> list[Figure]:
    """Best of `runs` runs of each engine of a module, in turn, each in a process of its own; sharkpy is the first."""
    best: dict[str, float] = {}
    answers: dict[str, list[str]] = {}
    for _ in range(runs):
        for name in names:
            command = [sys.executable, "-m", f"bench.streaming.{module}", name, *place]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found = json.loads(done.stdout.splitlines()[-1])
            best[name] = min(found["seconds"], best.get(name, found["seconds"]))
            answers[name] = [_alike(text) for text in found["check"]]
    ours, *peers = (rows / best[name] / 1e6 for name in names)
    aims = ", ".join(f"{least} of {name}'s" for name, least in wanted.items() if name in best)
    is_met = all(best[name] / best["sharkpy"] >= least for name, least in wanted.items() if name in best)
    different = [name for name in names if answers[name] != answers["sharkpy"]]
    return [
        comparison(what, "M rows/s", ours, dict(zip(names[1:], peers, strict=True)), aims, is_met, is_key=True),
        Figure(f"answers that differ, {what}", ", ".join(different) or "none", "none", not different),
    ]


def _alike(text: str) -> str:
    """Text without the trailing zeros of a fraction of a second, which engines write differently."""
    return str(datetime.datetime.fromisoformat(text)) if ":" in text else text
