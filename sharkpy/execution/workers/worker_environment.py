"""Requirements of workers on other hosts: the package, shipped as a zip, and the driver's libraries.

The driver puts its versions into the environment of worker processes. They are compared once, when an executor starts
its first worker. This module is imported before anything that may be missing there.
"""

from __future__ import annotations

import hashlib
import re
import socket
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.version import __version__

EXPECTED = "SHARKPY_EXPECTED"
"""Environment variable with the driver's versions."""
LIBRARIES = (
    "cloudpickle",
    "cryptography",
    "datasketches",
    "duckdb",
    "mmh3",
    "numba",
    "numpy",
    "psutil",
    "pyarrow",
    "regex",
    "xxhash",
    "zstandard",
)
"""Distributions that tasks import."""
_PROBLEM_MARK = "sharkpy cannot run on this worker:"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_HINT = (
    "give all workers the driver's Python environment: set spark.pyspark.python to its interpreter there, "
    "or ship it with spark.archives (docs/masters.md)"
)


def package_zip(folder: Path) -> Path:
    """Return the package as a zip in `folder`, named after its content: equal packages give equal files."""
    files = list(_package_files())
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    path = folder / f"sharkpy-{__version__}-{digest.hexdigest()[:16]}.zip"
    if not path.is_file():
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files:
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return path


def _package_files() -> Iterator[tuple[str, bytes]]:
    """Names and contents of the package's files in a fixed order. Linked parts are followed."""
    yield from _files_below(Path(__file__).resolve().parents[2], "sharkpy")


def _files_below(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files_below(entry, f"{name}/{entry.name}")
        elif entry.suffix == ".py":
            yield f"{name}/{entry.name}", entry.read_bytes()


def expected_versions() -> str:
    """Return the versions of the driver's libraries as text: `python 3.13, sharkpy 0.1.0, duckdb 2.0.0`…"""
    return ", ".join(f"{name} {found}" for name, found in _versions().items())


def _versions() -> dict[str, str]:
    libraries = {name: _installed(name) for name in LIBRARIES}
    return {"python": ".".join(map(str, sys.version_info[:2])), "sharkpy": __version__} | libraries


def _installed(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def version_differences(expected: str, owner: str = "the driver") -> list[str]:
    """Return this process's differences from the versions of `owner`: `duckdb is missing, the driver has 2.0.0`."""
    here = _versions()
    wanted = dict(part.split(" ", 1) for part in expected.split(", "))
    return [
        f"{name} {'is missing' if here.get(name, 'missing') == 'missing' else here[name]}, {owner} has {found}"
        for name, found in wanted.items()
        if here.get(name) != found
    ]


def check_worker(expected: str) -> None:
    """Raise ConfigurationError naming this host and its differences, if there are any."""
    if found := version_differences(expected):
        raise ConfigurationError(f'worker host "{socket.gethostname()}": {"; ".join(found)}', hint=_HINT)


def problem_line(error: ConfigurationError) -> str:
    """Return the last output line of the worker daemon, which `worker_problem` finds in Spark's message."""
    return f"{_PROBLEM_MARK} {error.message}"


_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_PROBLEMS = (
    (re.compile(re.escape(_PROBLEM_MARK) + r" (?P<fact>[^\n]+)"), "{fact}"),
    (
        re.compile(r"has different version: (?P<theirs>[\d.]+) than that in driver:? (?P<ours>[\d.]+)"),
        "{host}: python {theirs}, the driver has {ours}",
    ),
    (re.compile(r'Cannot run program "(?P<program>[^"]+)"'), '{host}: Python was not found at "{program}"'),
    (re.compile(r"No module named '?(?P<module>\w+)"), '{host}: the Python package "{module}" is missing'),
    (
        re.compile(r"Error from python worker:.*?(?P<said>(?:Import|Syntax|Attribute|Type)Error: [^\n]+)", re.DOTALL),
        "{host}: {said}",
    ),
)
"""Patterns of Spark's messages for failed tasks, with the fact in one line."""


def worker_problem(text: str) -> ConfigurationError | None:
    """Return the error of a worker that cannot run the engine, if Spark's message `text` reports one."""
    for pattern, fact in _PROBLEMS:
        if found := pattern.search(text):
            place = _HOST.search(text)
            host = f'worker host "{place.group(1)}"' if place else "a worker"
            return ConfigurationError(fact.format(host=host, **found.groupdict()), hint=_HINT)
    return None
