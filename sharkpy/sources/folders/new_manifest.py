"""The request that makes a generation of a remote folder count, and its retries if no answer comes."""

from __future__ import annotations

import time

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, check_cancelled
from sharkpy.base.errors import ConfigurationError, ExecutionError, SharkError
from sharkpy.sources.folders.manifest import Manifest, from_bytes, manifest_path, to_bytes
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.storage.store import Store, content_of

_TRIES = 4
_SECONDS = 30.0
"""Seconds after which no retry begins."""
_UNANSWERED = ("08", "57")
"""Classes of the SQLSTATEs of requests that may have been carried out."""


def put_manifest(store: Store, folder: str, name: str, manifest: Manifest, staging: str) -> bool:
    """Put the manifest of a generation into a folder; False if another write has taken its name.

    A request without an answer may still be carried out at any time. So it is repeated until an answer decides: once
    the name is taken, earlier requests have no effect. ExecutionError 40003 if no answer comes.

    Once the request has begun, cancellation of the statement is ignored: the caller has to learn the result.
    """
    path, content = manifest_path(folder, name), to_bytes(manifest, folder)
    check_cancelled()
    with Cancellation().active():
        return _put(store, path, content, manifest.write, staging)


def _put(store: Store, path: str, content: bytes, write: str, staging: str) -> bool:
    unanswered: SharkError | None = None
    deadline = time.monotonic() + _SECONDS
    for number in range(_TRIES):
        if number and time.monotonic() > deadline:
            break
        try:
            if store.put_new(path, content):
                return True
        except SharkError as error:
            if unanswered is None and not error.sqlstate.startswith(_UNANSWERED):
                raise
            unanswered = error
        taker = _taker(store, path)
        if taker is not None or unanswered is None:
            return taker == write
    STAGED.note_uncertain(staging)
    message = f'whether the rows in "{uri.redacted(staging)}" have come to count is not known'
    reason = "" if unanswered is None else f": {unanswered.message}"
    hint = f'they do if "{uri.redacted(path)}" names them once the storage answers'
    raise ExecutionError(message + reason, hint=hint, sqlstate="40003")


def _taker(store: Store, path: str) -> str | None:
    """Id of the write whose manifest has the name; None if there is none, or it cannot be read now."""
    try:
        facts = store.stat(path)
        if facts is None:
            return None
        content = content_of(facts, store)
    except (ExecutionError, ConfigurationError):
        return None
    return from_bytes(content, path, "").write
