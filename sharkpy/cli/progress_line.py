"""Runs a piece of work in a thread while the terminal shows how far it has come."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

if TYPE_CHECKING:
    from sharkpy.execution.progress import Progress

T = TypeVar("T")
SHOW_AFTER_SECONDS = 1.0
REFRESH_SECONDS = 0.1


@dataclass(slots=True)
class ProgressBoard:
    """The latest figures of the running query; `update` is called from the engine's threads."""

    latest: Progress | None = None

    def update(self, progress: Progress) -> None:
        self.latest = progress

    def clear(self) -> None:
        self.latest = None

    def line(self, elapsed: float) -> str:
        progress = self.latest
        if progress is None:
            return f"{elapsed:.1f} s"
        parts = [f"stage {progress.stages_done + 1} {progress.stage}"]
        if progress.tasks_total:
            percent = 100 * progress.tasks_done // progress.tasks_total
            parts.append(f"{percent} % | {progress.tasks_done}/{progress.tasks_total} tasks")
        if progress.rows_read:
            parts.append(f"{_count(progress.rows_read)} rows ({_count(int(progress.rows_read / max(elapsed, 0.1)))}/s)")
        return " | ".join([*parts, f"{elapsed:.1f} s"])


@dataclass(slots=True)
class _Outcome(Generic[T]):
    value: list[T] = field(default_factory=list)
    error: BaseException | None = None


def run_with_progress(
    work: Callable[[], T], cancel: Callable[[], None], board: ProgressBoard, stream: TextIO = sys.stderr
) -> T:
    """What `work` returns or raises. Ctrl-C calls `cancel` and waits for the work to end."""
    outcome: _Outcome[T] = _Outcome()

    def run() -> None:
        try:
            outcome.value.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.error = error

    board.clear()
    thread = threading.Thread(target=run, name="statement", daemon=True)
    started = time.monotonic()
    thread.start()
    is_shown = False
    while thread.is_alive():
        try:
            thread.join(REFRESH_SECONDS)
            elapsed = time.monotonic() - started
            if stream.isatty() and elapsed > SHOW_AFTER_SECONDS and thread.is_alive():
                stream.write(f"\r\x1b[2K{board.line(elapsed)}")
                stream.flush()
                is_shown = True
        except KeyboardInterrupt:
            cancel()
    if is_shown:
        stream.write("\r\x1b[2K")
        stream.flush()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value[0]


def _count(number: int) -> str:
    for limit, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= limit:
            return f"{number / (1000 if suffix == 'k' else limit):.1f} {suffix}"
    return str(number)
