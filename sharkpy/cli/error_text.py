"""Text of an error for people: one line, the place in the statement, a hint."""

from __future__ import annotations

from sharkpy.base.errors import SharkError


def error_text(error: BaseException, statement: str = "", first_line: int = 1) -> str:
    """Text of an error, without a final newline; `first_line` is where the statement starts in its script."""
    if not isinstance(error, SharkError):
        from sharkpy.execution.tasks.failure import as_shark_error

        error = as_shark_error(error)
    lines = [f"error [{error.sqlstate}]: {_single_line(error.message)}"]
    source = statement.split("\n")
    if error.line is not None and 1 <= error.line <= len(source):
        number = error.line + first_line - 1
        prefix = f"{number}: " if len(source) > 1 or first_line > 1 else "  "
        text = source[error.line - 1].replace("\t", " ")
        lines.append(prefix + text)
        if error.column is not None:
            lines.append(" " * (len(prefix) + min(error.column - 1, len(text))) + "^")
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def _single_line(message: str) -> str:
    return " ".join(message.split())
