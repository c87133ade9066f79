"""Calls of a library that bytes from outside may break, in a process of their own: what breaks is that one.

The process lives as long as this one, and gets one call after the other. It ends itself when this one does.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sharkpy.base.cancellation import check_cancelled

LENGTH = struct.Struct("<I")
_CHECK_SECONDS = 0.05
_START_SECONDS = 30.0
"""Allowed for the first call, which loads the library."""


@dataclass(slots=True)
class Apart:
    """Process that runs `module`: a loop that reads calls and writes their results. Any thread may call."""

    module: str
    seconds: float = 2.0
    """Allowed for a call."""
    _process: subprocess.Popen[bytes] | None = None
    _owner: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, name: str, given: Sequence[bytes], number: int = 0) -> Any:
        """Result of a call with some bytes and a number, as JSON has it; ValueError where it fails, takes too long, or
        breaks the process.
        """
        text = json.dumps({"name": name, "given": [one.hex() for one in given], "number": number})
        with self._lock:
            is_new = self._process is None or self._owner != os.getpid()
            if is_new:
                self._start()
            try:
                answer = self._answer(text.encode(), _START_SECONDS if is_new else self.seconds)
            except BaseException:
                self._end()
                raise
            if "error" in answer:
                # What has failed may have left something behind.
                self._end()
                raise ValueError(answer["error"])
            return answer["result"]

    def _start(self) -> None:
        if self._owner == 0:
            atexit.register(self._end)
        self._end()
        command = [sys.executable, "-m", self.module]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self._owner = os.getpid()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if self._owner == os.getpid():
                process.kill()
                process.wait()
            else:
                # A fork has left it here: it is another one's.
                process.returncode = 0
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _answer(self, call: bytes, seconds: float) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ValueError("the process has not begun")
        deadline = time.monotonic() + seconds
        try:
            process.stdin.write(LENGTH.pack(len(call)) + call)
            process.stdin.flush()
        except BrokenPipeError:
            raise ValueError("the process has ended") from None
        (length,) = LENGTH.unpack(self._read(process.stdout.fileno(), LENGTH.size, deadline))
        found = json.loads(self._read(process.stdout.fileno(), length, deadline))
        return found if isinstance(found, dict) else {}

    @staticmethod
    def _read(pipe: int, length: int, deadline: float) -> bytes:
        found = b""
        while len(found) < length:
            check_cancelled()
            if time.monotonic() > deadline:
                raise ValueError("it takes too long")
            if select.select([pipe], [], [], _CHECK_SECONDS)[0]:
                data = os.read(pipe, length - len(found))
                if not data:
                    raise ValueError("the process has ended")
                found += data
        return found
