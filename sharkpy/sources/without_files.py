"""Base of the formats of streams without files: the stream's reader makes their splits."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split


class WithoutFiles:
    """Parts of a Source that a format without files does not support. Tables cannot use it."""

    name = ""
    splits_bytes = False

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, *_: object) -> None:
        raise UnsupportedError(f'the format "{self.name}" of a table')

    def splits(self, *_: object) -> list[Split]:
        raise UnsupportedError(f'files in the format "{self.name}"')

    def write(self, *_: object) -> int:
        raise UnsupportedError(f'writing files in the format "{self.name}"')
