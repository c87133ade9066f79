"""Class cache of the JVM: classes loaded and linked in a training run, mapped at the next start.

Java 25 and newer write an AOT cache, older versions a dynamic class data archive. A cache is valid for one Java, one
pyspark and one set of options; its name is a hash of these. A JVM that finds an unsuitable cache starts without it.
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
"""Version of the cache. Change it if older caches no longer fit, as after a new class path or collector."""


@dataclass(frozen=True, slots=True)
class ClassCache:
    """Class cache at `path`. Its metadata is in a file with the same name and suffix .json."""

    path: Path
    is_aot: bool

    @property
    def note(self) -> Path:
        return self.path.with_suffix(".json")

    def use(self) -> list[str]:
        """Return the options of a JVM that starts with the cache."""
        return [f"-XX:AOTCache={self.path}"] if self.is_aot else [f"-XX:SharedArchiveFile={self.path}"]

    def train(self, target: Path) -> str:
        """Return the option of a JVM that writes the cache to `target` when it exits."""
        return f"-XX:AOTCacheOutput={target}" if self.is_aot else f"-XX:ArchiveClassesAtExit={target}"

    def publish(self, written: Path) -> int:
        """Publish the cache written by a training run; return its size in bytes."""
        size = written.stat().st_size
        self.note.unlink(missing_ok=True)
        written.replace(self.path)
        self.note.write_text(json.dumps({"bytes": size, "modified": self.path.stat().st_mtime_ns}))
        return size

    def drop(self) -> None:
        self.note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def fault(self) -> str | None:
        """Return why the cache cannot be used: None if it can, "" if it does not exist."""
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
    """Return the user's folder for files that can be recreated."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sharkpy"


def class_cache(java: Java, pyspark_home: Path) -> ClassCache:
    """Return the class cache for this Java and pyspark; it may not exist."""
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
    """Return a complete cache, or None; a damaged one is ignored with a warning."""
    cache = class_cache(java, pyspark_home)
    fault = cache.fault()
    if fault:
        _log.warning("the class cache %s is ignored: %s; train it anew with: sharkpy warmup", cache.path, fault)
    return cache if fault is None else None


def is_training(options: str) -> bool:
    """True if a JVM with these options writes a cache when it exits, which takes a while."""
    return "-XX:AOTCacheOutput=" in options or "-XX:ArchiveClassesAtExit=" in options
