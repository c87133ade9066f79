"""Text for a terminal: control characters and direction marks are shown by their codes."""

from __future__ import annotations

import io
import re
from typing import TextIO, cast

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_STEERING = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff]")
"""Controls (C0, DEL, C1), line and paragraph separators, direction marks and overrides, surrogates."""
_STEERING_IN_LINES = re.compile(_STEERING.pattern.replace(r"\x00-\x1f", r"\x00-\x08\x0b-\x1f"))
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """Return `text` on one line."""
    return text if text.isprintable() else _STEERING.sub(_code, text)


def visible_lines(text: str) -> str:
    """Return `text` with its line ends and tabs."""
    return text if text.isprintable() else _STEERING_IN_LINES.sub(_code, text)


def _code(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}")


def for_terminal(stream: TextIO) -> TextIO:
    """Wrap `stream` so that control characters are visible, if it is a terminal."""
    return as_visible(stream) if stream.isatty() else stream


def as_visible(stream: TextIO) -> TextIO:
    """Wrap `stream` so that control characters are visible."""
    return cast(TextIO, _VisibleStream(stream))


class _VisibleStream(io.TextIOBase):
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(visible_lines(text))

    def flush(self) -> None:
        self._stream.flush()
