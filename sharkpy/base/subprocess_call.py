"""Calls in subprocesses, for code that malformed input may crash or block: only the subprocess is lost.

A call names a function, which takes picklable arguments and returns buffers. Any process of the pool may run it.
1. The end of the statement kills the process at once.
2. A call fails if it computes for too long, needs too much memory, or crashes its process.
3. Processes are reused for later calls. They exit when they are idle for long, and when this process exits.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import field

from sharkpy.base import errors
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass

LENGTH = struct.Struct("<Q")
IDLE_SECONDS = 300.0
"""Time without a call after which a process exits."""
CPU_SECONDS = 60.0
"""Default limit on the computing time of a call."""
_MODULE = "sharkpy.base.subprocess_main"
_POLL_SECONDS = 0.05
_PIECE_BYTES = 1 << 20
_FRESH_SECONDS = 0.8 * IDLE_SECONDS
"""Age up to which an idle process is reused. An older one may be about to exit."""


class BrokenCallError(ValueError):
    """A call failed; the message gives the reason."""


def call(function: str, *arguments: object, cpu_seconds: float = CPU_SECONDS) -> list[bytes]:
    """Return the buffers that the function `module:name` returns in another process.

    Raise the function's SharkError, or BrokenCallError for any other failure.
    """
    request = pickle.dumps((function, arguments, cpu_seconds), pickle.HIGHEST_PROTOCOL)
    with _pool.process() as process:
        head, parts = process.answer(request)
        if "error" in head:
            raise _error_of(head)
    return parts


def _error_of(head: dict[str, str | None]) -> Exception:
    """Rebuild the error that another process reports. It is not unpickled: the process may be compromised."""
    kind = getattr(errors, str(head.get("kind")), None)
    if isinstance(kind, type) and issubclass(kind, SharkError):
        return kind(str(head["error"]), hint=head.get("hint"), sqlstate=head.get("sqlstate"))
    return BrokenCallError(head["error"])


@dataclass(slots=True, eq=False)
class _Process:
    popen: subprocess.Popen[bytes]
    last_used: float = field(default_factory=time.monotonic)

    @classmethod
    def started(cls) -> _Process:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-P", "-m", _MODULE]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        # A Ctrl-C in the terminal is for this process, which ends its subprocesses.
        return cls(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env=environment, start_new_session=True)
        )

    @property
    def is_fresh(self) -> bool:
        return self.popen.poll() is None and time.monotonic() - self.last_used < _FRESH_SECONDS

    def answer(self, request: bytes) -> tuple[dict[str, str | None], list[bytes]]:
        """Send a request; return the facts of the answer and its buffers."""
        stdin, stdout = self.popen.stdin, self.popen.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(LENGTH.pack(len(request)))
            stdin.write(request)
            stdin.flush()
        except BrokenPipeError:
            raise self._broken() from None
        (size,) = LENGTH.unpack(self._read(stdout.fileno(), LENGTH.size))
        head = json.loads(self._read(stdout.fileno(), size))
        parts = [bytes(self._read(stdout.fileno(), size)) for size in head.pop("sizes", ())]
        self.last_used = time.monotonic()
        return head, parts

    def _read(self, pipe: int, length: int) -> bytearray:
        found = bytearray()
        # Not select: it cannot watch the high descriptors of a server with many open files.
        ready = select.poll()
        ready.register(pipe, select.POLLIN)
        while len(found) < length:
            check_cancelled()
            if ready.poll(_POLL_SECONDS * 1000):
                data = os.read(pipe, min(length - len(found), _PIECE_BYTES))
                if not data:
                    raise self._broken()
                found += data
        return found

    def _broken(self) -> BrokenCallError:
        match -self.popen.wait():
            case signal.SIGPROF:
                return BrokenCallError("it takes too long")
            case number if number > 0:
                return BrokenCallError(f"it breaks the process that reads it (signal {number})")
        return BrokenCallError("the process that reads it has ended")

    def end(self) -> None:
        self.popen.kill()
        self.popen.wait()
        self.close()

    def close(self) -> None:
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class _Pool:
    """Idle processes, the last used at the end, and the number of running calls. At most `most` calls run at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._reset()
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._forget)

    def _reset(self) -> None:
        self._idle: list[_Process] = []
        self._num_calls = 0
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def process(self) -> Iterator[_Process]:
        """A process for one call. It is killed if the call fails, since its state is then unknown."""
        with self._turn():
            process = self._taken() or _Process.started()
            try:
                yield process
            except BaseException:
                process.end()
                raise
            with self._changed:
                self._idle.append(process)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with self._changed:
            while self._num_calls >= self._most:
                check_cancelled()
                self._changed.wait(_POLL_SECONDS)
            self._num_calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._num_calls -= 1
                self._changed.notify()

    def _taken(self) -> _Process | None:
        """Take an idle process, if there is one, and end the processes that have been idle for too long."""
        with self._changed:
            idle, self._idle = self._idle, []
            fresh = [one for one in idle if one.is_fresh]
            taken = fresh.pop() if fresh else None
            self._idle = fresh
        for one in idle:
            if one is not taken and one not in fresh:
                one.end()
        return taken

    def end(self) -> None:
        with self._changed:
            idle, self._idle = self._idle, []
        for one in idle:
            one.end()

    def _forget(self) -> None:
        """Forget the processes in a forked child: they belong to the parent."""
        for one in self._idle:
            one.popen.returncode = 0
            one.close()
        self._reset()


_pool = _Pool(max(2, os.cpu_count() or 1))
