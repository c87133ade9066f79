"""Listeners to the progress of a session's plans, and what collects the profiles of a thread's plans."""

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
"""`profiles` of the thread's plans, whichever session runs them: epochs that a statement runs have one of their own."""


class PlanObservers:
    """Listeners of a session, which get the progress of all its plans, and the profiles of a thread that asks for
    them.
    """

    def __init__(self) -> None:
        self._listeners: list[ProgressListener] = []

    def add_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """Add a listener; the returned function removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def reporter(self) -> ProgressListener:
        """Listener that reports to all listeners, and to the statement that this thread works for."""
        statement = current_cancellation()

        def report(progress: Progress) -> None:
            for listener in list(self._listeners):
                listener(progress)
            if isinstance(statement, Statement):
                statement.report(progress)

        return report

    def notify(self, text: str) -> bool:
        """Give a notice to the statement that this thread works for; False if nobody listens."""
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
        """Collect the profiles of this thread's plans: the last ones, where there are more than `most`."""
        profiles: deque[QueryProfile] = deque(maxlen=most)
        _of_thread.profiles = profiles
        try:
            yield profiles
        finally:
            _of_thread.profiles = None
