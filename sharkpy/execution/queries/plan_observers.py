"""Progress listeners of a session's plans, and collectors of a thread's query profiles."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.execution.stages.progress import Progress
from sharkpy.execution.statement import Statement

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.stages.progress import ProgressListener


_of_thread = threading.local()
"""`profiles` of the thread's plans in any session, since epochs in a statement have their own sessions."""


class PlanObservers:
    """Progress listeners of a session, and the profiles of a thread that collects them."""

    def __init__(self) -> None:
        self._listeners: list[ProgressListener] = []

    def add_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """Add a listener; the returned function removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def reporter(self) -> ProgressListener:
        """Return a listener that reports to all listeners and to this thread's statement."""
        statement = current_cancellation()

        def report(progress: Progress) -> None:
            for listener in list(self._listeners):
                listener(progress)
            if isinstance(statement, Statement):
                statement.report(progress)

        return report

    def notify(self, text: str) -> bool:
        """Send a notice to this thread's statement and the listeners. Return False if there is no listener."""
        statement = current_cancellation()
        if not self._listeners and not (isinstance(statement, Statement) and statement.has_listener):
            return False
        self.reporter()(Progress("notice", 0, 0, 0, 0, notice=text))
        return True

    @property
    def profiles(self) -> deque[QueryProfile] | None:
        return getattr(_of_thread, "profiles", None)

    @contextlib.contextmanager
    def taking_profiles(self, most: int | None = None) -> Iterator[deque[QueryProfile]]:
        """Collect the profiles of this thread's plans, at most the last `most`."""
        profiles: deque[QueryProfile] = deque(maxlen=most)
        _of_thread.profiles = profiles
        try:
            yield profiles
        finally:
            _of_thread.profiles = None
