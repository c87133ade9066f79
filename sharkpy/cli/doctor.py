"""`sharkpy doctor`: check this machine, and tell how to install missing parts."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sharkpy.base import settings, uri
from sharkpy.base.errors import SharkError
from sharkpy.base.settings import Conf
from sharkpy.base.version import __version__
from sharkpy.session.defaults import catalog_home, warehouse_location

Check = tuple[str, Callable[[], tuple[bool, str]]]
LEAST_FREE = 1 << 30
LIBRARIES = (
    "duckdb",
    "pyarrow",
    "numpy",
    "numba",
    "datasketches",
    "pyspark",
    "sqlglot",
    "zstandard",
    "xxhash",
    "mmh3",
    "regex",
    "cryptography",
)


def run_doctor(warehouse: str | None, given: Mapping[str, str]) -> int:
    """Print one line per check. Return 1 if queries need a missing part. `given`: settings of the session."""
    conf = Conf(given)
    location = warehouse_location(warehouse, conf)
    home = Path(catalog_home(location, conf))
    checks: tuple[Check, ...] = (
        ("python", lambda: (sys.version_info >= (3, 11), f"{sys.version.split()[0]} at {sys.executable}")),
        ("libraries", _libraries),
        ("java", _java),
        ("class cache", _class_cache),
        ("worker", _worker),
        ("memory", _memory),
        ("shared memory", _shared_memory),
        ("orphans", _orphans),
        ("temporary space", lambda: _space(Path(tempfile.gettempdir()))),
        ("warehouse" if location == str(home) else "catalog", lambda: _space(home)),
        ("ports", _ports),
    )
    sys.stdout.write(f"sharkpy {__version__}\n")
    is_well = True
    for name, check in checks:
        try:
            good, text = check()
        except (SharkError, OSError) as error:
            good, text = False, str(error)
        is_well &= good
        sys.stdout.write(f"{'ok  ' if good else 'FAIL'} {name:<16} {text}\n")
    if uri.is_remote(location):
        from sharkpy.cli.storage_doctor import warehouse_checks

        for good, name, text in warehouse_checks(location, conf):
            is_well &= good
            sys.stdout.write(f"{'ok  ' if good else 'FAIL'} {name:<16} {text}\n")
    return 0 if is_well else 1


def _libraries() -> tuple[bool, str]:
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return not missing, f"missing: {', '.join(missing)}" if missing else ", ".join(found)


def _java() -> tuple[bool, str]:
    from sharkpy.base.java import find_java

    java = find_java()
    return True, f"Java {java.version} from {java.origin}: {java.executable}"


def _class_cache() -> tuple[bool, str]:
    from sharkpy.cli.warmup import cache_state

    return True, cache_state()


def _worker() -> tuple[bool, str]:
    worker = os.environ.get("PYSPARK_PYTHON", sys.executable)
    found = shutil.which(worker)
    return found is not None, f"Spark's tasks run on {worker}" + ("" if found else ", which is not there")


def _memory() -> tuple[bool, str]:
    import psutil

    memory = psutil.virtual_memory()
    text = f"{memory.available / 1e9:.1f} of {memory.total / 1e9:.1f} GB available, {os.cpu_count()} cores"
    return memory.available > LEAST_FREE, text


def _shared_memory() -> tuple[bool, str]:
    folder = Path(settings.STORE_SHM_DIR.default)
    if not os.access(folder, os.W_OK):
        return False, f"{folder} cannot be written: set {settings.STORE_SHM_DIR.key} to another folder"
    return _space(folder)


def _orphans() -> tuple[bool, str]:
    from sharkpy.columnar.block_folders import sweep_orphans
    from sharkpy.execution.scratch import sweep_scratch

    blocks = sweep_orphans(settings.STORE_SHM_DIR.default)
    folders = sweep_scratch(Path(tempfile.gettempdir()))
    return True, f"swept what dead sessions left: {len(blocks)} block stores, {len(folders)} temporary folders"


def _space(folder: Path) -> tuple[bool, str]:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        return False, f"{folder} cannot be written"
    return free > LEAST_FREE, f"{folder}: {free / 1e9:.1f} GB free"


def _ports() -> tuple[bool, str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return True, f"127.0.0.1 can be listened on (tried port {probe.getsockname()[1]})"
