"""Remote files of a session's scripts and functions, each copied once into a folder of the session."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import BindError, ResourceError, SourceError
from sharkpy.catalog.function_catalog import Fetched
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.open_files import data_file_of, store_for_access
from sharkpy.sources.storage.store import ObjectFacts

MOST_BYTES = 1 << 30
"""Limit on the total bytes of a session's copies."""


def fetched_resource(location: str, session: EngineSession) -> str:
    """Return the path of a local copy of a remote file. The copy keeps the file's name.

    A file that has changed is fetched again into a new folder, because functions may have the old copy open. Raise
    NotAllowedError if the session's statements may not name the location, SourceError 58P01 if there is no file,
    ResourceError 54000 if all copies together exceed MOST_BYTES.
    """
    access_id = session.catalog.named_access_id(location)
    resources = session.catalog.resources
    with cancellable_lock(resources.fetching):
        facts = facts_of_file(location, access_id)
        known = resources.fetched(location)
        if known is not None and known.version == facts:
            return known.path
        check_room(facts, resources.fetched_bytes, "a session fetches {} MB for its scripts and functions")
        path = _copied(facts, access_id, session)
        resources.note_fetched(location, Fetched(path, facts, facts.size_bytes))
        return path


def facts_of_file(location: str, access_id: str) -> ObjectFacts:
    """Return the facts about a remote file.

    Raise BindError 42602 if its name is not valid for a local copy, SourceError 58P01 if it does not exist.
    """
    name = uri.name_of(location)
    if name in ("", ".", "..") or "\0" in name:
        raise BindError(f'"{uri.redacted(location)}" has no valid file name', sqlstate="42602")
    facts = store_for_access(location, access_id).stat(location)
    if facts is None:
        raise SourceError(f'cannot read "{uri.redacted(location)}": there is no such file', sqlstate="58P01")
    return facts


def check_room(facts: ObjectFacts, taken: int, rule: str) -> None:
    """Raise ResourceError 54000 if the file and the `taken` bytes exceed MOST_BYTES. `rule` is the hint."""
    if taken + facts.size_bytes > MOST_BYTES:
        message = f'"{uri.redacted(facts.path)}" has {facts.size_bytes} bytes, and {taken} are fetched already'
        raise ResourceError(message, hint=rule.format(MOST_BYTES >> 20), sqlstate="54000")


def _copied(facts: ObjectFacts, access_id: str, session: EngineSession) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="added-", dir=session.engine.scratch)
    except OSError as error:
        raise io_error(error, str(session.engine.scratch)) from None
    # The engine's scratch folder is removed at exit, so this folder needs no exit handler.
    weakref.finalize(session.catalog.resources, shutil.rmtree, folder, ignore_errors=True).atexit = False
    target = str(Path(folder, uri.name_of(facts.path)))
    copy_files([(data_file_of(facts, access_id), target)])
    return target
