"""Progress line on the terminal, while a thread works."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Generic, TextIO, TypeVar

from sharkpy.base.records import dataclass
from sharkpy.values.visible_text import visible, visible_lines

if TYPE_CHECKING:
    from sharkpy.execution.statement import Progress

T = TypeVar("T")
SHOW_AFTER_SECONDS = 1.0
REFRESH_SECONDS = 0.1
CANCEL_SECONDS = 0.5
"""Seconds between one call of `cancel` and the next."""
END_SECONDS = 5.0
"""Seconds to wait for a cancelled statement after the process gets a signal to end."""


@dataclass(slots=True)
class ProgressBoard:
    """Latest progress of the running query, and the line on `stream` that shows it.

    The engine's threads call `update`. Call `hide` before the answer is written.
    """

    stream: TextIO | None = None
    """Stream of the line; None means `sys.stderr` at the time of writing."""
    latest: Progress | None = None
    _rows_of_stage: dict[int, int] = field(default_factory=dict)
    _is_shown: bool = False
    _is_hidden: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def update(self, progress: Progress) -> None:
        if progress.notice is not None:
            self.write_above(f"notice: {progress.notice}")
            return
        self.latest = progress
        if progress.rows_read:
            self._rows_of_stage[progress.stages_done] = progress.rows_read

    @property
    def rows_read(self) -> int:
        """Total rows that the statement's stages have read."""
        return sum(list(self._rows_of_stage.values()))

    def start(self) -> None:
        """Begin a statement."""
        self.latest = None
        self._rows_of_stage = {}
        self._is_hidden = False

    def show(self, elapsed: float) -> None:
        """Redraw the line, on a terminal and until it is hidden."""
        stream = self.stream or sys.stderr
        with self._lock:
            if self._is_hidden or not stream.isatty():
                return
            width = shutil.get_terminal_size().columns
            stream.write(f"\r\x1b[2K{visible(self.line(elapsed))[: width - 1]}")
            stream.flush()
            self._is_shown = True

    def hide(self) -> None:
        """Remove the line, until the next statement."""
        stream = self.stream or sys.stderr
        with self._lock:
            self._is_hidden = True
            if self._is_shown:
                stream.write("\r\x1b[2K")
                stream.flush()
                self._is_shown = False

    def write_above(self, text: str) -> None:
        """Write a lasting line in place of the progress line, which is drawn again below it."""
        stream = self.stream or sys.stderr
        text = visible_lines(text)
        with self._lock:
            stream.write(f"\r\x1b[2K{text}\n" if self._is_shown else f"{text}\n")
            stream.flush()
            self._is_shown = False

    def line(self, elapsed: float) -> str:
        progress = self.latest
        if progress is None:
            return f"running | {elapsed:.1f} s"
        if progress.queued_behind is not None:
            return f"waiting, {progress.queued_behind} before it | {elapsed:.1f} s"
        parts = [f"stage {progress.stages_done + 1} {progress.stage.split(' ')[0]}"]
        if progress.tasks_total:
            percent = 100 * progress.tasks_done // progress.tasks_total
            parts.append(f"{percent} % | {progress.tasks_done}/{progress.tasks_total} tasks")
        if rows := self.rows_read:
            parts.append(f"{short_count(rows)} rows ({short_count(int(rows / max(elapsed, 0.1)))}/s)")
        return " | ".join([*parts, f"{elapsed:.1f} s"])


@dataclass(slots=True)
class _Outcome(Generic[T]):
    value: list[T] = field(default_factory=list)
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)
    """Set when the work ends. Thread.join is unreliable after a KeyboardInterrupt has passed through it."""


def run_with_progress(work: Callable[[], T], cancel: Callable[[], None], board: ProgressBoard) -> T:
    """Run `work` and return or raise its outcome. Ctrl-C calls `cancel` repeatedly until the work ends: at the first
    call there may be no statement yet.
    """
    outcome: _Outcome[T] = _Outcome()

    def run() -> None:
        try:
            outcome.value.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            outcome.error = error
        finally:
            outcome.done.set()

    board.start()
    thread = threading.Thread(target=run, name="statement", daemon=True)
    started = time.monotonic()
    cancelled: float | None = None
    try:
        thread.start()
    except KeyboardInterrupt:  # while waiting for the thread to say that it runs
        cancelled = 0.0
    while not outcome.done.is_set():
        try:
            if outcome.done.wait(REFRESH_SECONDS):
                break
            now = time.monotonic()
            elapsed = now - started
            if cancelled is not None and now - cancelled > CANCEL_SECONDS:
                cancelled = now
                cancel()
            if elapsed > SHOW_AFTER_SECONDS:
                board.show(elapsed)
        except KeyboardInterrupt:
            cancelled = time.monotonic()
            cancel()
        except SystemExit:
            cancel()
            outcome.done.wait(END_SECONDS)
            raise
    board.hide()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value[0]


def short_count(number: int) -> str:
    for limit, suffix in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if number >= limit:
            return f"{number / (1000 if suffix == 'k' else limit):.1f} {suffix}"
    return str(number)
