"""`sharkpy server` as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.paths_below import paths_below

COMMAND = [sys.executable, "-m", "sharkpy.cli.main", "--master", "local[2]"]


class Process:
    """A server over `folder`."""

    def __init__(self, folder: Path, *options: str, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.folder = folder
        self.temp, self.shm = folder / "tmp", folder / "shm"
        for place in (self.temp, self.shm):
            place.mkdir(exist_ok=True)
        given = {"shark.store.shm.dir": str(self.shm), "shark.store.memory.limit": "64m", **settings}
        sets = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
        arguments = [*COMMAND, "--warehouse", str(folder / "w"), *sets, "server", "--port", "0", *options]
        environment = {**os.environ, "TMPDIR": str(self.temp)}
        self.process = subprocess.Popen(
            arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"listens on 127\.0\.0\.1:(\d+)", line)
        if found is None:
            self.process.kill()
        assert found, line + self.process.communicate()[1]
        self.port = int(found[1])
        self.first_line = line

    def stop(self, signals: int = 1) -> None:
        for _ in range(signals):
            self.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)

    def wait(self, seconds: float) -> str:
        """Return the text on standard error; check that the exit code is 0."""
        _, errors = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, errors
        return errors

    def left(self) -> list[Path]:
        return [path for place in (self.temp, self.shm) for path in paths_below(place)]
