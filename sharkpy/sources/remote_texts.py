"""Small remote files that are read whole, such as schemas, cached until they change."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.local_copy import small_text, store_with
from sharkpy.sources.storage.store import ObjectFacts

_MOST = 64
_MOST_CHARACTERS = 1 << 20
"""Longer texts are not cached."""


class _RemoteTexts:
    """Texts that were used last, by access and facts of their files."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, ObjectFacts], str]()

    def read(self, location: str, access_id: str) -> str:
        facts = store_with(location, access_id).stat(location)
        if facts is None:
            raise SourceError(f'file or folder "{uri.redacted(location)}" does not exist', sqlstate="58P01")
        key = (access_id, facts)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        text = small_text(facts, access_id)
        if len(text) <= _MOST_CHARACTERS:
            with self._lock:
                self._known[key] = text
                while len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return text


_texts = _RemoteTexts()


def text_at(location: str, access_id: str) -> str:
    """Text of a remote file. SourceError 58P01 if it does not exist, 58030 if it is not a text or is too large."""
    return _texts.read(location, access_id)
