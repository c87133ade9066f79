"""Base of the formats of streams that have no files: rows come from splits that the stream's reader makes."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split


class WithoutFiles:
    """Parts of a Source that a format without files does not have. A table cannot be in it."""

    name = ""
    splits_bytes = False

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's
        return False

    def check(self, *_: object) -> None:
        raise UnsupportedError(f'the format "{self.name}" of a table')

    def splits(self, *_: object) -> list[Split]:
        raise UnsupportedError(f'files in the format "{self.name}"')

    def write(self, *_: object) -> int:
        raise UnsupportedError(f'writing files in the format "{self.name}"')
