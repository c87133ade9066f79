"""Line ends of Hadoop become newlines, and texts without carriage returns are not counted."""

from __future__ import annotations

import pytest

from sharkpy.sources.line_chunks import with_newlines


class Uncounted(bytes):
    """Bytes that no code may count: a count takes as long as parsing."""

    def count(self, *_: object) -> int:
        pytest.fail("the bytes were counted")


def test_texts_without_carriage_returns_are_only_searched() -> None:
    data = Uncounted(b"a\nb\n")
    assert with_newlines(data) is data


@pytest.mark.parametrize(
    ("data", "lines"), [(b"a\r\nb\r\n", b"a\r\nb\r\n"), (b"a\rb\r\nc\n", b"a\nb\nc\n"), (b"a\r", b"a\n")]
)
def test_only_lone_carriage_returns_change_the_text(data: bytes, lines: bytes) -> None:
    assert with_newlines(data) == lines
