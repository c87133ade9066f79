"""Options of the user in the shell: everything that dot commands change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
