"""Sleep that another thread, or a file with data to read, can end."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Collection


class InterruptibleSleep:
    """Sleep of one thread. Any thread may end it, also before it begins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_asleep = False
        self._is_ended = False
        self._reading, self._writing = os.pipe()
        """Ends of a pipe. It contains one byte if a thread has ended the sleep while it lasted."""

    def sleep(self, seconds: float, files: Collection[int] = ()) -> bool:
        """Sleep for at most `seconds`.

        Return True if one of the file descriptors `files` has data to read and ended the sleep.
        """
        with self._lock:
            if self._is_ended or seconds <= 0:
                self._is_ended = False
                return False
            self._is_asleep = True
        poll = select.poll()
        for file in (self._reading, *files):
            poll.register(file, select.POLLIN)
        ready = poll.poll(seconds * 1000)
        return self._wake_up() and bool(ready)

    def _wake_up(self) -> bool:
        """Return True if no thread has ended the sleep."""
        with self._lock:
            self._is_asleep = False
            was_ended, self._is_ended = self._is_ended, False
            if was_ended:
                os.read(self._reading, 1)
            return not was_ended

    def end(self) -> None:
        """End the sleep, or the next one if the thread is awake."""
        with self._lock:
            if self._is_asleep and not self._is_ended:
                os.write(self._writing, b"\0")
            self._is_ended = True

    def close(self) -> None:
        """Close the pipe, after the thread has ended."""
        with self._lock:
            for file in (self._reading, self._writing):
                if file >= 0:
                    os.close(file)
            self._reading = self._writing = -1
