"""Listeners to the progress of a session's plans, and the lists that collect their profiles."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import current_cancellation
from sharkpy.execution.stages.progress import Progress
from sharkpy.execution.statement import Statement

if TYPE_CHECKING:
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.stages.progress import ProgressListener


class PlanObservers:
    """Listeners of a session, which get the progress of all its plans, and a list for each thread that asks for
    profiles.
    """

    def __init__(self) -> None:
        self._listeners: list[ProgressListener] = []
        self._of_thread = threading.local()

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
    def profiles(self) -> list[QueryProfile] | None:
        return getattr(self._of_thread, "profiles", None)

    @contextlib.contextmanager
    def taking_profiles(self) -> Iterator[list[QueryProfile]]:
        profiles: list[QueryProfile] = []
        self._of_thread.profiles = profiles
        try:
            yield profiles
        finally:
            self._of_thread.profiles = None
