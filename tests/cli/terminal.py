"""The real shell on a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parent.parent.parent
_CURSOR_QUESTION = b"\x1b[6n"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()=>][A-Z0-9]?|\x08")
ENTER, CTRL_C, CTRL_D, TAB = "\r", "\x03", "\x04", "\t"


class TerminalShell:
    """`sharkpy` in a terminal of 30 lines and 100 columns; `until` waits for text to appear on it."""

    def __init__(
        self, arguments: Sequence[str], environ: Mapping[str, str], lines: int = 30, columns: int = 100
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sharkpy.cli.main", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", **environ},
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        self._raw = b""
        self._read_to = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    @property
    def raw(self) -> bytes:
        """All that the terminal was sent."""
        return self._raw

    def until(self, text: str, seconds: float = 60.0) -> str:
        """Text that appeared since the last call, up to and with `text`; without escape sequences."""
        deadline = time.monotonic() + seconds
        while True:
            shown = _ESCAPES.sub("", self._raw.decode(errors="replace"))
            place = shown.find(text, self._read_to)
            if place >= 0:
                found = shown[self._read_to : place + len(text)]
                self._read_to = place + len(text)
                return found
            if time.monotonic() > deadline or not self._receive(0.2):
                raise AssertionError(f"no {text!r} in {shown[self._read_to :]!r}")

    def ended(self, seconds: float = 60.0) -> int:
        """Wait for the end; returns the exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self._receive(0.1)
        return self.process.wait(1)

    def _receive(self, seconds: float) -> bool:
        """Take the available output; False if the other side is gone."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return True
        try:
            received = os.read(self._master, 65536)
        except OSError:
            return False
        self._raw += received
        if _CURSOR_QUESTION in received:
            self.type("\x1b[1;1R")
        return bool(received)


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
