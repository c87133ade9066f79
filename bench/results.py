"""Results of benchmarks: one JSON file a suite, with the newest figures of each measurement."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bench.figure import Figure, Row
from bench.suites import ROOT

RESULTS = ROOT / "results"
_ENVIRONMENT = ("SHARKPY_APPENDS", "SHARKPY_EPOCHS", "SHARKPY_EVENTS", "SHARKPY_RECORDS")
"""Variables that change the size of a measurement."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a suite, on one commit and one machine. `settings` has the settings that differ from the defaults."""

    suite: str
    date: str
    commit: str
    machine: str
    versions: Mapping[str, str]
    scale: float
    settings: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    rows: Sequence[Row] = ()

    @property
    def name(self) -> str:
        """Suite, scale and settings: a newer run replaces the rows of an older one of the same name."""
        settings = "".join(f", {key} {value}" for key, value in sorted(self.settings.items()))
        return f"{self.suite}{'' if self.scale == 1 else f' at scale {self.scale:g}'}{settings}"

    def measured(self, figures: Mapping[str, Sequence[Figure]]) -> Run:
        """The run with its figures, which are given by measurement."""
        return replace(self, rows=[one.row(measurement) for measurement, found in figures.items() for one in found])


def this_run(suite: str, scale: float, libraries: Iterable[str] = ()) -> Run:
    """Run that begins: the checkout as it is, on this machine."""
    settings = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    date = datetime.date.today().isoformat()
    return Run(suite, date, commit(), machine(), versions(libraries), scale, settings)


def read_runs(folder: Path = RESULTS) -> list[Run]:
    return [run for path in sorted(folder.glob("*.json")) for run in _read(path)]


def record(run: Run, folder: Path = RESULTS) -> Path:
    """Add a run to the file of its suite. Older rows of the same measurements, scale and settings are removed."""
    path = folder / f"{run.suite}.json"
    measured = {row["measurement"] for row in run.rows}
    kept = []
    for older in _read(path) if path.exists() else ():
        rows = [row for row in older.rows if older.name != run.name or row["measurement"] not in measured]
        if rows:
            kept.append(replace(older, rows=rows))
    folder.mkdir(exist_ok=True)
    path.write_text(_text(run.suite, [*kept, run]), encoding="utf-8")
    return path


def machine() -> str:
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB"


def versions(libraries: Iterable[str]) -> dict[str, str]:
    """Versions of Python, of sharkpy, and of the libraries that are installed."""
    found = {"Python": platform.python_version()}
    for name in dict.fromkeys(("sharkpy", *libraries)):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit(checkout: Path = ROOT.parent) -> str:
    """Commit of a checkout. Files of results may have changed since; changes of other tracked files add "-dirty"."""
    head = _git(checkout, "rev-parse", "--short=8", "HEAD")
    others = ("--", ".", ":!bench/results", ":!bench/RESULTS.md")
    return f"{head}-dirty" if _git(checkout, "status", "--porcelain", "--untracked-files=no", *others) else head


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, check=True, cwd=checkout, stdout=subprocess.PIPE, text=True).stdout.strip()


def _read(path: Path) -> list[Run]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Run(found["suite"], **one) for one in found["runs"]]


def _text(suite: str, runs: Sequence[Run]) -> str:
    """JSON with a line for each row, so that a diff shows the figures that changed."""
    return f'{{"suite": {json.dumps(suite)}, "runs": [\n' + ",\n".join(map(_run_text, runs)) + "\n]}\n"


def _run_text(run: Run) -> str:
    head = {key: value for key, value in asdict(run).items() if key not in ("suite", "rows")}
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in run.rows)
    return json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}") + ',\n "rows": [\n' + rows + "\n]}"
