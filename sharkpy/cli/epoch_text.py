"""Epoch of a continuous sink TO CONSOLE, as text."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sharkpy.session.output_formats import Look, write_table

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.model import Table

MOST_ROWS = 20


def epoch_text(sink: Table, number: int, batches: Iterable[pa.RecordBatch]) -> str:
    """Return the first rows of an epoch and the number of its rows, or an empty text for an epoch without rows."""
    shown: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in batches:
        if num_rows < MOST_ROWS:
            shown.append(batch.slice(0, MOST_ROWS - num_rows))
        num_rows += batch.num_rows
    if not num_rows:
        return ""
    rows = f"{num_rows:,} row{'' if num_rows == 1 else 's'}"
    cut = f", of which {MOST_ROWS} are shown" if num_rows > MOST_ROWS else ""
    table = io.StringIO()
    write_table(table, sink.schema, shown, Look(width=shutil.get_terminal_size().columns))
    return f"{sink.qualified_name}, epoch {number}: {rows}{cut}\n{table.getvalue().rstrip()}"
