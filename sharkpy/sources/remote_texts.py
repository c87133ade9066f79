"""Small remote files that are read whole, such as schemas: each is read once, until it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.local_copy import small_text, store_with
from sharkpy.sources.storage.store import ObjectFacts

_MOST = 64
_MOST_CHARACTERS = 1 << 20
"""Longer ones are read each time."""


class _RemoteTexts:
    """Texts by the access and what tells their files apart, those that were used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = OrderedDict[tuple[str, ObjectFacts], str]()

    def read(self, location: str, access_id: str) -> str:
        facts = store_with(location, access_id).stat(location)
        if facts is None:
            raise SourceError(f'file or folder "{uri.shown(location)}" does not exist', sqlstate="58P01")
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
    """Text of a remote file. SourceError 58P01 where there is none, 58030 for what is no text or is larger than files
    that are read whole.
    """
    return _texts.read(location, access_id)
