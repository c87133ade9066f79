"""Class cache of the JVM: classes loaded and linked in a training run, mapped at its next start.

Java 25 and newer write an AOT cache, older ones a dynamic archive of class data. A cache is for one Java, one pyspark
and one set of options: it is found under a name made of these, and a JVM that meets a foreign one starts without it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sharkpy.base.java import Java

FIRST_WITH_AOT = 25
_log = logging.getLogger("sharkpy")
_FORMAT = "1"
"""Version of the cache: changes whenever older ones would not fit, as for another class path or collector."""


@dataclass(frozen=True, slots=True)
class ClassCache:
    """Class cache at `path`; its metadata lies beside it."""

    path: Path
    is_aot: bool

    @property
    def note(self) -> Path:
        return self.path.with_suffix(".json")

    def use(self) -> list[str]:
        """Options of a JVM that starts with the cache."""
        return [f"-XX:AOTCache={self.path}"] if self.is_aot else [f"-XX:SharedArchiveFile={self.path}"]

    def train(self, target: Path) -> str:
        """Option of a JVM that writes the cache, to `target`, at its end."""
        return f"-XX:AOTCacheOutput={target}" if self.is_aot else f"-XX:ArchiveClassesAtExit={target}"

    def publish(self, written: Path) -> int:
        """Publish the cache that a training run wrote; returns its bytes."""
        size = written.stat().st_size
        self.note.unlink(missing_ok=True)
        written.replace(self.path)
        self.note.write_text(json.dumps({"bytes": size, "modified": self.path.stat().st_mtime_ns}))
        return size

    def drop(self) -> None:
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def fault(self) -> str | None:
        """Reason for which the cache cannot be used: None if it can, "" if there is none."""
        try:
            known = json.loads(self.note.read_text())
            found = self.path.stat()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            return str(error)
        if (known.get("bytes"), known.get("modified")) != (found.st_size, found.st_mtime_ns):
            return "it is not as its training run left it"
        return None


def cache_dir() -> Path:
    """Folder of the user for files that can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sharkpy"


def class_cache(java: Java, pyspark_home: Path) -> ClassCache:
    """Class cache of this Java with this pyspark, which may not exist."""
    executable = Path(java.executable).resolve()
    release = executable.parent.parent / "release"
    parts = (
        _FORMAT,
        str(executable),
        release.read_text(errors="replace") if release.is_file() else str(java.version),
        version("pyspark"),
        str(pyspark_home),
    )
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    is_aot = java.version >= FIRST_WITH_AOT
    return ClassCache(cache_dir() / f"java{java.version}-{key}.{'aot' if is_aot else 'jsa'}", is_aot)


def find_class_cache(java: Java, pyspark_home: Path) -> ClassCache | None:
    """Find a complete cache to start with; a damaged one is ignored with a warning."""
    cache = class_cache(java, pyspark_home)
    fault = cache.fault()
    if fault:
        _log.warning("the class cache %s is ignored: %s; train it anew with: sharkpy warmup", cache.path, fault)
    return cache if fault is None else None


def is_training(options: str) -> bool:
    """True if a JVM with these options writes a cache at its end, which takes a while."""
    return "-XX:AOTCacheOutput=" in options or "-XX:ArchiveClassesAtExit=" in options
