"""Text of an error for people: one line, the place in the statement, a hint."""

from __future__ import annotations

from sharkpy.base.errors import SharkError
from sharkpy.base.secrets import redacted
from sharkpy.values.visible_text import visible

_MOST_SHOWN = 200
"""Characters of a line of the statement that are shown."""


def error_text(error: BaseException, statement: str = "", first_line: int = 1) -> str:
    """Text of an error, without a final newline; `first_line` is where the statement starts in its script."""
    if not isinstance(error, SharkError):
        from sharkpy.execution.tasks.failure import as_shark_error

        error = as_shark_error(error)
    lines = [f"error [{error.sqlstate}]: {visible(_single_line(error.message))}"]
    source = statement.split("\n")
    if error.line is not None and 1 <= error.line <= len(source):
        number = error.line + first_line - 1
        prefix = f"{number}: " if len(source) > 1 or first_line > 1 else "  "
        line = source[error.line - 1].replace("\t", " ")
        shown = redacted(line)
        text, at = _around(shown, error.column if shown == line else None)
        lines.append(prefix + visible(text))
        if at is not None:
            lines.append(" " * (len(prefix) + len(visible(text[:at]))) + "^")
    if error.hint:
        lines.append(f"hint: {visible(_single_line(error.hint))}")
    return "\n".join(lines)


def _around(line: str, column: int | None) -> tuple[str, int | None]:
    """The line, or of a long one the part around a column, and the place of the column in it."""
    if column is None:
        return line[:_MOST_SHOWN], None
    at = min(column - 1, len(line))
    start = max(0, min(at - _MOST_SHOWN // 2, len(line) - _MOST_SHOWN))
    return line[start : start + _MOST_SHOWN], at - start


def _single_line(message: str) -> str:
    return " ".join(message.split())
