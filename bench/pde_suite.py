"""What run-time decisions are worth: each measurement of bench/pde in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from bench import pde
from bench.report import machine
from bench.suites import ROOT

_CODE = """
import json, sys
from dataclasses import asdict
from bench.pde import measure
print(json.dumps([asdict(one) for one in measure(sys.argv[1], int(sys.argv[2]))]))
"""


def run_pde(runs: int, wanted: str | None = None) -> tuple[str, dict[str, Any]]:
    """Markdown and figures of the measurements `wanted` (names with commas between; None: all)."""
    names = pde.NAMES if wanted is None else tuple(wanted.split(","))
    figures: dict[str, Any] = {}
    head = ["| measurement | what | value | wanted | met |", "|---|---|---:|---:|---|"]
    lines = ["## pde", "", f"{machine()}.", "", *head]
    for name in names:
        print(f"pde: {name}", file=sys.stderr)
        for one in figures.setdefault(name, _measure(name, runs)):
            met = {None: "", True: "yes", False: "no"}[one.met]
            lines.append(f"| {name} | {one.what} | {one.value} | {one.wanted} | {met} |")
        figures[name] = [asdict(one) for one in figures[name]]
    return "\n".join([*lines, ""]), figures


def _measure(name: str, runs: int) -> list[pde.Figure]:
    command = [sys.executable, "-c", _CODE, name, str(runs)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(command, check=True, cwd=ROOT.parent, env=environment, stdout=subprocess.PIPE, text=True)
    return [pde.Figure(**one) for one in json.loads(done.stdout.splitlines()[-1])]
