"""Jars of Java packages, for the tests and measurements that start programs of other projects.

They come once, through Apache Ivy (which PySpark brings along) into Ivy's own cache, from the registry of Java packages
that Ivy knows. So nothing needs Maven or an installed Java.
"""

from __future__ import annotations

import fcntl
import subprocess
from functools import cache
from pathlib import Path

import pyspark

from sharkpy.base.java import find_java

_RESOLVE_SECONDS = 600
"""Ivy asks for one file after the other: 400 requests for Spark, about four minutes if nothing else runs."""

_ATTEMPTS = 2
"""Ivy keeps each file that has come: a second attempt takes up what a slow or broken first one has left."""


@cache
def jars_of(organisation: str, name: str, version: str) -> tuple[str, ...]:
    """Jars of a package and of all that it needs. The first call of a machine may take minutes."""
    home = Path.home() / ".ivy2"
    home.mkdir(exist_ok=True)
    found = home / f"{name}-{version}.classpath"
    with open(home / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = found.read_text().strip() if found.exists() else ""
        if not known or not all(Path(jar).exists() for jar in known.split(":")):
            (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
            command = [find_java().executable, "-jar", str(ivy), "-cache", str(home / "cache")]
            command += ["-dependency", organisation, name, version]
            command += ["-confs", "default", "-types", "jar", "bundle", "-cachepath", str(found)]
            _resolve(command)
        return tuple(found.read_text().strip().split(":"))


def _resolve(command: list[str]) -> None:
    said = ""
    for _ in range(_ATTEMPTS):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_RESOLVE_SECONDS, check=False)
        except subprocess.TimeoutExpired as slow:
            said = str(slow)
            continue
        if done.returncode == 0:
            return
        said = done.stdout[-4000:] + done.stderr[-4000:]
    raise AssertionError(said)
