"""Generations that releases before 0.3 have put into remote folders."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sharkpy.base import uri
from sharkpy.sources.storage.store import ObjectFacts, Store


def put_generation(store: Store, folder: str, name: str, files: Sequence[ObjectFacts]) -> None:
    """Put the manifest of a generation, whose files are in `_files` of the folder or of one above it."""
    named = [[relative(one.path, folder), one.size_bytes, one.modified_ns, one.tag] for one in files]
    body = json.dumps({"version": 1, "write": "w", "files": named})
    store.put(uri.join(folder, "_generations", name), body.encode())


def relative(path: str, folder: str) -> str:
    ups = ""
    while (below := uri.below(path, folder)) is None:
        ups, folder = f"{ups}../", uri.parent(folder)
    return ups + below
