"""Remote files that a session's scripts and functions use: copied into a folder of the session, each once."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import held
from sharkpy.base.errors import BindError, ResourceError, SourceError
from sharkpy.catalog.resources import Fetched
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.failures import io_error
from sharkpy.sources.local_copy import file_of, store_with
from sharkpy.sources.storage.store import ObjectFacts

MOST_BYTES = 1 << 30
"""Limit on the copies of a session, in all."""


def fetched_resource(location: str, session: EngineSession) -> str:
    """Path of a copy of a remote file, which has the file's name. NotAllowedError for a location that the session's
    statements may not name, SourceError 58P01 where there is no file, ResourceError 54000 for more than MOST_BYTES.

    A file that has changed since it was fetched is fetched again, beside its copy: functions may have that open.
    """
    access_id = session.catalog.named_access_id(location)
    resources = session.catalog.resources
    with held(resources.fetching):
        facts = facts_of_file(location, access_id)
        known = resources.fetched(location)
        if known is not None and known.version == facts:
            return known.path
        check_room(facts, resources.fetched_bytes, "a session fetches {} MB for its scripts and functions")
        path = _copied(facts, access_id, session)
        resources.note_fetched(location, Fetched(path, facts, facts.size_bytes))
        return path


def facts_of_file(location: str, access_id: str) -> ObjectFacts:
    """Facts about a remote file. BindError 42602 where no copy can have its name, SourceError 58P01 where it is not."""
    name = uri.name_of(location)
    if name in ("", ".", "..") or "\0" in name:
        raise BindError(f'"{uri.shown(location)}" has no name that a file can have here', sqlstate="42602")
    facts = store_with(location, access_id).stat(location)
    if facts is None:
        raise SourceError(f'cannot read "{uri.shown(location)}": there is no such file', sqlstate="58P01")
    return facts


def check_room(facts: ObjectFacts, taken: int, rule: str) -> None:
    """ResourceError 54000, with the rule as its hint, for a file that is too much beside the bytes of others."""
    if taken + facts.size_bytes > MOST_BYTES:
        message = f'"{uri.shown(facts.path)}" has {facts.size_bytes} bytes, and {taken} are fetched already'
        raise ResourceError(message, hint=rule.format(MOST_BYTES >> 20), sqlstate="54000")


def _copied(facts: ObjectFacts, access_id: str, session: EngineSession) -> str:
    try:
        folder = tempfile.mkdtemp(prefix="added-", dir=session.engine.scratch)
    except OSError as error:
        raise io_error(error, str(session.engine.scratch)) from None
    # The engine's folder goes with its process.
    weakref.finalize(session.catalog.resources, shutil.rmtree, folder, ignore_errors=True).atexit = False
    target = str(Path(folder, uri.name_of(facts.path)))
    copy_files([(file_of(facts, access_id), target)])
    return target
