"""Display of a notebook's cell: the progress of a statement while it runs, then its first rows."""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from IPython.display import DisplayHandle, display

from sharkpy.cli.progress_line import ProgressBoard
from sharkpy.session.output_formats import write_html, write_lines, write_table
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Answer:
    """First rows of a statement; `is_more` is True if more rows follow."""

    schema: Schema
    batches: Sequence[pa.RecordBatch]
    is_more: bool = False
    is_text: bool = False

    @property
    def num_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches)

    def __repr__(self) -> str:
        return self._written(write_lines if self.is_text else write_table) + self._note

    def _repr_html_(self) -> str:
        if self.is_text:
            return f"<pre>{html.escape(self._written(write_lines))}</pre>"
        return self._written(write_html) + (f"<p>{self._note}</p>" if self.is_more else "")

    def _written(self, write: Callable[[TextIO, Schema, Sequence[pa.RecordBatch]], object]) -> str:
        stream = io.StringIO()
        write(stream, self.schema, self.batches)
        return stream.getvalue()

    @property
    def _note(self) -> str:
        return f"only the first {self.num_rows} rows are shown; --limit shows more" if self.is_more else ""


@dataclass(slots=True)
class DisplayBoard(ProgressBoard):
    """Progress line as an output of the cell that is updated in place, and cleared at the end."""

    _handle: DisplayHandle | None = field(default=None, init=False)

    def show(self, elapsed: float) -> None:
        self._display(self.line(elapsed))

    def hide(self) -> None:
        if self._handle is not None:
            self._display("")

    def _display(self, line: str) -> None:
        shown = {"text/plain": line, "text/html": f"<code>{html.escape(line)}</code>" if line else ""}
        if self._handle is None:
            self._handle = display(shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(shown, raw=True)  # type: ignore[no-untyped-call]
