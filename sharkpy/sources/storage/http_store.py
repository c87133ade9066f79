"""Files of an HTTP server, each by its own URL, for reading only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, NoReturn
from urllib.parse import unquote

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.uri import redacted
from sharkpy.sources.storage.object_reader import ObjectReader, place_of
from sharkpy.sources.storage.store import ObjectFacts, StoreTraits


class HttpStore(ObjectReader):
    """Files of one HTTP server. A path is a URL, and is encoded as one."""

    traits = StoreTraits(writes=False, lists=False, puts_new=False, is_sorted=False)

    def key_of(self, path: str) -> str:
        key = place_of(path)[1]
        if "?" in key:
            raise UnsupportedError(f'a query in the location "{redacted(path)}"')
        return unquote(key)

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[ObjectFacts]:  # noqa: ARG002  the protocol's signature
        _refuse_list(folder)

    def children(self, folder: str) -> tuple[Sequence[ObjectFacts], Sequence[str]]:
        _refuse_list(folder)

    def put(self, path: str, content: BinaryIO | bytes) -> ObjectFacts:  # noqa: ARG002  the protocol's signature
        _refuse_write(path)

    def put_new(self, path: str, content: bytes) -> bool:  # noqa: ARG002  the protocol's signature
        _refuse_write(path)

    def copy(self, source: ObjectFacts, target: str) -> ObjectFacts:  # noqa: ARG002  the protocol's signature
        _refuse_write(target)

    def move(self, source: ObjectFacts, target: str) -> None:  # noqa: ARG002  the protocol's signature
        _refuse_write(target)

    def delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            _refuse_write(path)

    def remove_uploads(self, folder: str, before_ns: int) -> int:  # noqa: ARG002  the protocol's signature
        return 0


def _refuse_list(folder: str) -> NoReturn:
    message = f'a list of the files at "{redacted(folder)}": HTTP has none'
    raise UnsupportedError(message, hint="name each file by its URL")


def _refuse_write(path: str) -> NoReturn:
    raise UnsupportedError(f'writing to "{redacted(path)}" by HTTP')
