"""Output of a statement's answer by the user's options: on the terminal, in a pager, or in a file."""

from __future__ import annotations

import io
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.cli.plan_tree import draw_plan
from sharkpy.session.output_formats import BINARY_WRITERS, FOR_READING, OF_SUFFIX, WRITERS, Look, write_lines
from sharkpy.values.visible_text import as_visible, visible_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.session.result import Result

DEFAULT_PAGER = "less -SRFX"


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of writing an answer. `num_rows` is None for statements without rows, or if the lines are not rows."""

    num_rows: int | None = None
    is_cut: bool = False
    """True if only a part of the rows was written."""
    pages: str = ""
    """Text for the pager that is not written yet."""
    num_written: int | None = None
    """Rows that an INSERT or similar statement has written; None for other statements, or if the number is unknown."""


class AnswerWriter:
    """Writer of answers, by `options`. Files that `.output` names stay open for later answers."""

    def __init__(self, options: ShellOptions) -> None:
        self._options = options
        self._file: TextIO | None = None

    @property
    def _screen(self) -> TextIO:
        return sys.stdout

    def redirect(self, path: Path | None) -> None:
        """Send answers to this file from now on, or to the terminal if it is None."""
        self.close()
        if path is not None and format_of(path, self._options.mode) in WRITERS:
            self._file = _opened(path)
        self._options.output = path

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def write(self, result: Result, on_answer: Callable[[], None] = lambda: None) -> Answer:
        """Read the result to its end, or to the limit; `on_answer` is called before anything is written."""
        if not result.columns:
            return Answer()
        batches = result.batches()
        ahead = list(itertools.islice(batches, 1))
        on_answer()
        rows = itertools.chain(ahead, batches)
        once, self._options.once = self._options.once, None
        if path := once or self._options.output:
            return self._to_file(path, result, rows, is_kept_open=once is None)
        if self._options.mode in BINARY_WRITERS:
            return self._to_pipe(result, rows)
        return self._to_screen(result, rows)

    def _to_file(self, path: Path, result: Result, rows: Iterable[pa.RecordBatch], *, is_kept_open: bool) -> Answer:
        mode = format_of(path, self._options.mode)
        if mode in BINARY_WRITERS:
            with _opened_binary(path) as binary:
                return Answer(BINARY_WRITERS[mode](binary, result.schema, rows))
        write = write_lines if result.is_text else WRITERS[mode]
        look = Look(self._options.null_text)
        if is_kept_open and self._file is not None:
            count = write(self._file, result.schema, rows, look)
            self._file.flush()
        else:
            with _opened(path) as text:
                count = write(text, result.schema, rows, look)
        return Answer(None if result.is_text else count)

    def _to_pipe(self, result: Result, rows: Iterable[pa.RecordBatch]) -> Answer:
        if self._screen.isatty():
            hint = "name it: .once file"
            raise ConfigurationError(f"{self._options.mode} goes to a file", hint=hint, sqlstate="22023")
        self._screen.flush()
        return Answer(BINARY_WRITERS[self._options.mode](self._screen.buffer, result.schema, rows))

    def _to_screen(self, result: Result, rows: Iterable[pa.RecordBatch]) -> Answer:
        is_terminal, mode = self._screen.isatty(), self._options.mode
        is_read = is_terminal and (mode in FOR_READING or result.is_text)
        stream: TextIO = io.StringIO() if is_read and self._options.pager else self._screen
        if result.is_text and mode == "table":
            texts = (str(text) for batch in rows for text in batch.column(0).to_pylist())
            lines = [visible_lines(line) if is_terminal else line for text in texts for line in text.splitlines()]
            drawn = draw_plan(lines, is_colored=has_colors()) if is_terminal else lines
            stream.writelines(f"{line}\n" for line in drawn)
            stream.flush()
            return Answer(pages=_pages(stream))
        limit = _Limit(rows, self._options.max_rows if is_read and not result.is_text else 0)
        look = Look(self._options.null_text, self._width() if is_read else 0)
        shown = as_visible(stream) if is_terminal else stream
        count = WRITERS[mode](shown, result.schema, limit, look)
        self._screen.flush()
        return Answer(None if result.is_text else count, limit.is_cut, _pages(stream))

    def _width(self) -> int:
        if self._options.width:
            return max(0, self._options.width)
        return shutil.get_terminal_size().columns


class _Limit:
    """First rows of `batches`; 0 means all rows. `is_cut` is set when more rows are found."""

    def __init__(self, batches: Iterable[pa.RecordBatch], num_rows: int) -> None:
        self._batches = batches
        self._num_rows = num_rows
        self.is_cut = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        left = self._num_rows
        for batch in self._batches:
            if self._num_rows and batch.num_rows > left:
                self.is_cut = True
                if left:
                    yield batch.slice(0, left)
                return
            left -= batch.num_rows
            yield batch


def format_of(path: Path, mode: str) -> str:
    """Return the format by the file's suffix if that is known, else by the mode."""
    return OF_SUFFIX.get(path.suffix.lower(), mode)


def has_colors() -> bool:
    """True unless the user has turned colours off (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_pages(text: str) -> None:
    """Write `text`, through the user's pager if it is longer or wider than the terminal."""
    size = shutil.get_terminal_size()
    lines = text.splitlines()
    command = shlex.split(os.environ.get("PAGER") or DEFAULT_PAGER)
    if len(lines) < size.lines - 1 or shutil.which(command[0]) is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
    try:
        subprocess.run(command, input=text.encode(), check=False)
    finally:
        signal.signal(signal.SIGINT, handler)


def _pages(stream: TextIO) -> str:
    return stream.getvalue() if isinstance(stream, io.StringIO) else ""


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise _cannot_write(path, error) from None


def _opened_binary(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise _cannot_write(path, error) from None


def _cannot_write(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f'cannot write "{path}": {error.strerror}', sqlstate="58030")


DEFAULT_MAX_ROWS = 1_000


@dataclass(slots=True)
class ShellOptions:
    """Options of the shell. `output` receives all answers, `once` only the next one; None for both means the
    terminal.
    """

    mode: str = "table"
    null_text: str | None = None
    """Text of NULL; None for the default of the format."""
    max_rows: int = DEFAULT_MAX_ROWS
    """Rows of an answer that the terminal shows; 0 means all."""
    width: int = 0
    """Cells that a table may take on the terminal; 0 for the terminal's width, -1 for the width that the table
    needs.
    """
    timer: bool = True
    pager: bool = True
    explain: str = "off"
    """off: answers; on: plans instead of answers; analyze: plans with the figures of their runs."""
    output: Path | None = None
    once: Path | None = None
