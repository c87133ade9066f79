"""Running sessions of this process; the newest one is the default."""

from __future__ import annotations

import threading
import weakref

from sharkpy.base.errors import ExecutionError
from sharkpy.execution.engine_session import EngineSession

_lock = threading.Lock()
_running: list[weakref.ref[EngineSession]] = []


def note_started(session: EngineSession) -> None:
    with _lock:
        _running[:] = [ref for ref in _running if ref() is not None]
        _running.append(weakref.ref(session))


def note_stopped(session: EngineSession) -> None:
    with _lock:
        _running[:] = [ref for ref in _running if ref() not in (None, session)]


def newest_session() -> EngineSession:
    """Return the newest running session; raise ExecutionError if there is none."""
    with _lock:
        for ref in reversed(_running):
            if (session := ref()) is not None:
                return session
    raise ExecutionError("no session runs in this process", hint="call sharkpy.connect() first", sqlstate="08003")
