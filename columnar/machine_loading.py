"""Loading of the vector machine in the background, so that no query waits for its compilation."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time

from sharkpy.columnar import machine

_COMPILE = "import os; os.nice(10); from sharkpy.columnar.machine import prepare; prepare()"
_COMPILE_SECONDS = 300
_PATIENCE_SECONDS = 1.0
"""Time before the loading, so that a process that answers one query does not pay for it."""
_log = logging.getLogger(__name__)


class _Loading:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.is_done = False

    def begin(self, delay: float) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, args=(delay,), name="sharkpy-kernels", daemon=True)
                self._thread.start()

    def load(self) -> None:
        """Load the machine in this thread, and compile it before if it is not."""
        machine.prepare()
        self.is_done = True

    def _load(self, delay: float) -> None:
        time.sleep(delay)
        try:
            if not machine.is_compiled():
                # The compiler would hold the interpreter's lock for seconds: another process fills its cache on disk.
                subprocess.run(
                    [sys.executable, "-c", _COMPILE],
                    check=True,
                    timeout=_COMPILE_SECONDS,
                    capture_output=True,
                )
            self.load()
        except Exception:  # noqa: BLE001 - queries go on without it
            _log.warning("the vector machine cannot be compiled: DuckDB runs all queries", exc_info=True)


_loading = _Loading()


def is_loaded(*, begins: bool = True) -> bool:
    """Return whether the machine can run at once. The first call that `begins` begins to load it."""
    if begins and not _loading.is_done:
        _loading.begin(_PATIENCE_SECONDS)
    return _loading.is_done


def begin() -> None:
    """Begin to load the machine now."""
    if not _loading.is_done:
        _loading.begin(0)


def load() -> None:
    """Load the machine now, and compile it before if it is not; this may take seconds."""
    if not _loading.is_done:
        _loading.load()
