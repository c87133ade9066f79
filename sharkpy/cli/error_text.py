"""Text of an error for the user: one line, the place in the statement, a hint."""

from __future__ import annotations

import shutil

from sharkpy.base.errors import SharkError
from sharkpy.base.secrets import redacted
from sharkpy.session.output_formats import text_width
from sharkpy.values.visible_text import visible

_MOST_SHOWN = 200
"""Number of characters shown of a statement's line, on a terminal that has room for them."""
_LEAST_SHOWN = 20


def error_text(error: BaseException, statement: str = "", first_line: int = 1) -> str:
    """Return the text of an error, without a final newline. `first_line` is the line of the script that the statement
    starts in.
    """
    if not isinstance(error, SharkError):
        from sharkpy.execution.tasks.error_conversion import as_shark_error

        error = as_shark_error(error)
    lines = [f"error [{error.sqlstate}]: {visible(_single_line(error.message))}"]
    source = statement.split("\n")
    if error.line is not None and 1 <= error.line <= len(source):
        number = error.line + first_line - 1
        prefix = f"{number}: " if len(source) > 1 or first_line > 1 else "  "
        line = source[error.line - 1].replace("\t", " ")
        shown = redacted(line)
        # If the terminal broke the line, the caret would be below its last part.
        room = min(_MOST_SHOWN, max(shutil.get_terminal_size().columns - len(prefix) - 1, _LEAST_SHOWN))
        text, at = _around(shown, error.column if shown == line else None, room)
        lines.append(prefix + visible(text))
        if at is not None:
            lines.append(" " * (len(prefix) + text_width(visible(text[:at]))) + "^")
    if error.hint:
        lines.append(f"hint: {visible(_single_line(error.hint))}")
    return "\n".join(lines)


def _around(line: str, column: int | None, room: int) -> tuple[str, int | None]:
    """Return the line and the column's place in it. If the line exceeds `room`, return the part around the column."""
    if column is None:
        return line[:room], None
    at = min(column - 1, len(line))
    start = max(0, min(at - room // 2, len(line) - room))
    return line[start : start + room], at - start


def _single_line(message: str) -> str:
    return " ".join(message.split())
