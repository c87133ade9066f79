"""Limit on the bytes of one line of a text file, since a line is read into memory as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import LINE_BYTES

_Properties = tuple[tuple[str, str], ...]


def with_line_limit(properties: _Properties, most: int) -> _Properties:
    """Properties of splits with a limit, which replaces that of the table: tasks do not know the session's settings."""
    kept = tuple(item for item in properties if item[0] != LINE_BYTES.key)
    return (*kept, (LINE_BYTES.key, str(most)))


@dataclass(frozen=True, slots=True)
class LineLimit:
    """Limit on the lines of the file at `path`: `most` bytes without the line end; 0: none.

    Offsets are in the file, or in the content of a compressed file. ResourceError 54000 beyond the limit.
    """

    path: str
    most: int
    newline: bytes
    is_compressed: bool

    @classmethod
    def of(cls, path: str, properties: _Properties, newline: bytes, *, is_compressed: bool = False) -> LineLimit:
        given = dict(properties).get(LINE_BYTES.key)
        most = LINE_BYTES.default if given is None else LINE_BYTES.parse(given)
        return cls(path, max(most, 0), newline, is_compressed)

    def check(self, chunk: bytes, place: int) -> None:
        """Check the lines of a chunk that begins at `place`; its last line may lack its end."""
        if not 0 < self.most < len(chunk):
            return
        ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == self.newline[0])
        starts = np.concatenate(([0], ends + 1))
        too_long = np.flatnonzero(np.append(ends, len(chunk)) - starts > self.most)
        if len(too_long):
            self.refuse(place + int(starts[too_long[0]]))

    def check_unfinished(self, size: int, place: int) -> None:
        """Check the first `size` bytes of a line whose end is not found yet."""
        if 0 < self.most < size:
            self.refuse(place)

    def refuse(self, place: int) -> NoReturn:
        where = "of what it holds" if self.is_compressed else "of the file"
        raise ResourceError(
            f'the line at byte {place:,} {where} is longer than {LINE_BYTES.key} allows, {self.most:,}: "{self.path}"',
            hint="is it text with a line a row? then raise the setting",
            sqlstate="54000",
        )
