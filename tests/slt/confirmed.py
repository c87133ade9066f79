"""python -m tests.slt.confirmed [--again]: run the oracles on files whose key is not on record, or on every file, and
record the confirmed keys.

The tests run no oracle on a file that it has confirmed already; `make oracles` runs all of them again.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tests.slt.engines import DuckEngine, Engine, SparkEngine
from tests.slt.records import ROOT, load
from tests.slt.runner import run_file

RECORD = ROOT / "confirmed.json"
ORACLES: tuple[type[Engine], ...] = (DuckEngine, SparkEngine)
_LIBRARIES = {"duckdb": ("duckdb", "sqlglot"), "spark": ("pyspark",)}
"""Distributions that decide what an oracle answers."""
_RUNNER = ("engines.py", "records.py", "rows.py", "runner.py")

Keys = dict[str, dict[str, str]]
"""Oracle -> file -> key."""


def files() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.slt") if path.parent.name != "shared")


def key(path: Path, oracle: str) -> str:
    """Hash of the records that the oracle runs, its version and the runner's."""
    records = (record.text() for record in load(path) if record.runs_on(oracle))
    return hashlib.sha256("\n\n".join((_versions(oracle), *records)).encode()).hexdigest()[:16]


@functools.cache
def _versions(oracle: str) -> str:
    runner = "".join(_code((ROOT / name).read_text(encoding="utf-8")) for name in _RUNNER)
    libraries = (f"{name} {version(name)}" for name in _LIBRARIES[oracle])
    return ", ".join((*libraries, f"runner {hashlib.sha256(runner.encode()).hexdigest()}"))


def _code(text: str) -> str:
    """The lines of a module without docstrings and other loose texts: the same for every version of Python."""
    loose = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(text.splitlines(), start=1)
    return "\n".join(line for number, line in lines if number not in loose and line.strip())


@functools.cache
def recorded() -> Keys:
    found: Keys = json.loads(RECORD.read_text())
    return found


def is_confirmed(path: Path, oracle: str) -> bool:
    return recorded().get(oracle, {}).get(_name(path)) == key(path, oracle)


def current() -> Keys:
    """Keys of all files as they are."""
    return {oracle.name: {_name(path): key(path, oracle.name) for path in files()} for oracle in ORACLES}


def confirm(oracle: Engine, known: dict[str, str]) -> Iterator[str]:
    """Bring `known`, the keys of files, up to date, a file at a time; yield the records that the oracle does not
    confirm.
    """
    paths = {_name(path): path for path in files()}
    for name in known.keys() - paths.keys():
        del known[name]
    for name, path in paths.items():
        wanted = key(path, oracle.name)
        if known.get(name) == wanted:
            continue
        known.pop(name, None)
        try:
            run_file(path, oracle)
            known[name] = wanted
        except AssertionError as error:
            yield f"{oracle.name}: {error}"
        else:
            yield ""


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def main() -> int:
    """Each file is recorded at once, so an interrupted run goes on at the same file."""
    keys: Keys = json.loads(RECORD.read_text()) if RECORD.exists() and "--again" not in sys.argv else {}
    failed = False
    for oracle in ORACLES:
        for problem in confirm(oracle(), keys.setdefault(oracle.name, {})):
            failed |= bool(problem)
            print(problem, end="\n" if problem else "")
            RECORD.write_text(json.dumps(keys, indent=1, sort_keys=True) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
