"""Measurements against aims: each in a process of its own, their figures as one table."""

from __future__ import annotations

import datetime
import importlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.pde import Figure
from bench.report import machine
from bench.suites import CACHE, ROOT


def run_measurements(
    package: str, runs: int, wanted: str | None = None, scale: float = 1.0, checkout: Path | None = None
) -> tuple[str, dict[str, Any]]:
    """Markdown and figures of the measurements `wanted` (names with commas between; None: all NAMES of the package).

    One that fails has no figures, and the others have theirs: its error is on stderr.
    `checkout`: another checkout, which those of `beside` are measured with in turn.
    """
    known: tuple[str, ...] = importlib.import_module(f"bench.{package}").NAMES
    names = known if wanted is None else tuple(wanted.split(","))
    figures: dict[str, Any] = {}
    head = ["| measurement | what | value | wanted | met |", "|---|---|---:|---:|---|"]
    title = package if scale == 1 else f"{package} at scale {scale:g}"
    lines = [
        f"## {title}, {datetime.date.today().isoformat()}",
        "",
        f"{machine()}{_versions(package)}{_commits(checkout)}.",
        "",
        *head,
    ]
    for name in names:
        print(f"{package}: {name}", file=sys.stderr)
        found = _measure(package, name, runs, scale, checkout)
        for one in found:
            met = {None: "", True: "yes", False: "no"}[one.met]
            lines.append(f"| {name} | {one.what} | {one.value} | {one.wanted} | {met} |")
            print(lines[-1], file=sys.stderr)
        if not found:
            lines.append(f"| {name} | failed | | | no |")
        figures[name] = [asdict(one) for one in found]
    return "\n".join([*lines, ""]), figures


def _versions(package: str) -> str:
    """The versions of what the package's measurements run beside the engine, where it names any."""
    names: tuple[str, ...] = getattr(importlib.import_module(f"bench.{package}"), "LIBRARIES", ())
    return "".join(f", {name} {importlib.metadata.version(name)}" for name in names)


def _commits(checkout: Path | None) -> str:
    if checkout is None:
        return ""
    names = [_git(place, "describe", "--always", "--dirty") for place in (ROOT.parent, checkout)]
    return f"; commit {names[0]} beside {names[1]}: ratio (this one, the other one)"


def _git(place: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, cwd=place, stdout=subprocess.PIPE, text=True).stdout.strip()


def _measure(package: str, name: str, runs: int, scale: float, checkout: Path | None) -> list[Figure]:
    """Figures of a measurement; none of one that fails."""
    other = [] if checkout is None else [str(checkout.resolve())]
    command = [sys.executable, "-m", "bench.measurements", package, name, str(runs), str(scale), *other]
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run(command, check=False, cwd=ROOT.parent, env=environment, stdout=subprocess.PIPE, text=True)
    return [] if done.returncode else [Figure(**one) for one in json.loads(done.stdout.splitlines()[-1])]


def main(package: str, name: str, runs: int, scale: float, *other: str) -> None:
    """One measurement; its figures are the last line. Those of some packages have a scale."""
    # What it started is stopped when it is terminated.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    measure = importlib.import_module(f"bench.{package}.{name}").measure
    CACHE.mkdir(parents=True, exist_ok=True)
    if other:
        figures = measure(runs, scale, Path(other[0]))
    else:
        figures = measure(runs) if scale == 1 else measure(runs, scale)
    print(json.dumps([asdict(one) for one in figures]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:])
