"""Calls of code that bytes from outside may break or hold, in processes of their own: only that process is lost.

A call names a function, which takes whatever can be pickled and returns buffers. Any process of the pool may run it.
1. The end of the statement ends the process at once, whatever it does.
2. A call that computes for too long, or needs too much memory, fails; so does one whose process breaks.
3. Processes are kept for the next call, end themselves when they are idle, and end with this one.
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
from dataclasses import dataclass, field

from sharkpy.base import errors
from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import SharkError

LENGTH = struct.Struct("<Q")
IDLE_SECONDS = 300.0
"""Time without a call after which a process ends itself."""
CPU_SECONDS = 60.0
"""Default limit on the computing time of a call."""
_MODULE = "sharkpy.base.apart_process"
_POLL_SECONDS = 0.05
_PIECE_BYTES = 1 << 20
_FRESH_SECONDS = 0.8 * IDLE_SECONDS
"""Age up to which an idle process is used again: an older one may be about to end."""


class BrokenCallError(ValueError):
    """A call that has failed, for which the message gives the reason."""


def call(function: str, *arguments: object, cpu_seconds: float = CPU_SECONDS) -> list[bytes]:
    """Buffers that the function `module:name` returns in another process. Raise its SharkError, or BrokenCallError
    for any other failure.
    """
    request = pickle.dumps((function, arguments, cpu_seconds), pickle.HIGHEST_PROTOCOL)
    with _pool.process() as process:
        head, parts = process.answer(request)
        if "error" in head:
            raise _error_of(head)
    return parts


def _error_of(head: dict[str, str | None]) -> Exception:
    """The error that another process has told of. It is not unpickled: the process may be a broken one."""
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
        # A Ctrl-C in the terminal is for this process, which ends the others.
        return cls(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env=environment, start_new_session=True)
        )

    @property
    def is_fresh(self) -> bool:
        return self.popen.poll() is None and time.monotonic() - self.last_used < _FRESH_SECONDS

    def answer(self, request: bytes) -> tuple[dict[str, str | None], list[bytes]]:
        """Facts of the answer, and its buffers."""
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
        # Not select: a server has more open files than that can name.
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
    """Idle processes, the one used last at the end, and the number of calls. More than `most` wait for their turn."""

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
        """A process for one call. It is ended if the call fails: something may be left behind in it."""
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
        """An idle process, if one is there. Those that have been idle for too long are ended."""
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
        """Leave the processes to the one that this process has been forked from."""
        for one in self._idle:
            one.popen.returncode = 0
            one.close()
        self._reset()


_pool = _Pool(max(2, os.cpu_count() or 1))
