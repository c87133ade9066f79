"""Statements about sessions: SET, RESET and KILL QUERY, and ADD, LIST and DELETE of JARs, files and archives.

A remote file is copied once into a folder of the session.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import cancellable_lock
from sharkpy.base.errors import BindError, ResourceError, SourceError
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import SETTINGS, check_known
from sharkpy.catalog.function_catalog import Fetched
from sharkpy.catalog.path_gate import local_path, open_regular
from sharkpy.execution.commands.command_result import NOTHING, CommandResult, done, text_rows
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import AddResources, DeleteResources, KillQuery, ListResources, ResetConf, SetConf
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.open_files import data_file_of, store_for_access
from sharkpy.sources.storage.store import ObjectFacts
from sharkpy.sql.grammar.variables import variable


def set_conf(command: SetConf, session: EngineSession) -> CommandResult:
    """Set a setting, or list settings as `key=value` in one column, as in Hive, without secrets."""
    conf = session.conf
    if command.key is None:
        docs = {setting.key: f"  -- {setting.doc}" for setting in SETTINGS} if command.verbose else {}
        rows = [(redacted(f"{key}={conf[key]}") + docs.get(key, ""),) for key in sorted(conf)]
        return text_rows(("set",), rows)
    check_known(command.key)
    if command.value is None:
        space, colon, name = command.key.partition(":")
        is_variable = colon and space in ("env", "system", "hivevar", "metaconf")
        of_machine = not session.restrictions.guards_settings
        value = variable(space, name, conf, of_machine=of_machine) if is_variable else conf.get(command.key)
        shown = f"{command.key} is undefined" if value is None else redacted(f"{command.key}={value}")
        return text_rows(("set",), [(shown,)])
    session.restrictions.check_setting(command.key)
    conf.set(command.key, command.value)
    return NOTHING


def kill_query(command: KillQuery, session: EngineSession) -> CommandResult:
    session.kill_queries(command.query_ids)
    return NOTHING


def reset_conf(command: ResetConf, session: EngineSession) -> CommandResult:
    """Reset one setting, or all settings that the session may change."""
    conf, restrictions = session.conf, session.restrictions
    if command.key is not None:
        restrictions.check_setting(command.key)
        conf.reset(command.key)
        return NOTHING
    kept = [(key, value) for key, value in conf.changes() if restrictions.keeps(key)]
    conf.reset()
    for key, value in kept:
        conf.set(key, value)
    return NOTHING


def add_resources(command: AddResources, session: EngineSession) -> CommandResult:
    if command.kind == "JAR":
        session.restrictions.check_code("ADD JAR")
    for path in [resource_path(path, session) for path in command.paths]:
        session.catalog.resources.add(command.kind, path)
    return done()


def list_resources(command: ListResources, session: EngineSession) -> CommandResult:
    known = session.catalog.resources.paths(command.kind)
    wanted = {_added_path(path, session) for path in command.paths}
    return text_rows(("resource",), [(path,) for path in known if not wanted or path in wanted])


def delete_resources(command: DeleteResources, session: EngineSession) -> CommandResult:
    for path in command.paths:
        session.catalog.resources.remove(command.kind, _added_path(path, session))
    if not command.paths:
        session.catalog.resources.remove(command.kind)
    return done()


def _added_path(path: str, session: EngineSession) -> str:
    """Return the path under which a file was added, that of the copy for a remote file."""
    if not uri.is_remote(path):
        return str(Path(local_path(path)).absolute())
    copy = session.catalog.resources.fetched(path)
    return path if copy is None else copy.path


def resource_path(path: str, session: EngineSession) -> str:
    """Return the absolute path of a file that the session may read, or of a remote file's copy.

    Raise SourceError if it does not exist, NotAllowedError if the session may not read it.
    """
    if uri.is_remote(path):
        return fetched_resource(path, session)
    session.restrictions.check_path(path)
    found = Path(local_path(path))
    if not found.exists():
        raise SourceError(f'cannot read "{path}": there is no such file')
    if not found.is_dir():
        open_regular(str(found)).close()
    return str(found)


MOST_RESOURCE_BYTES = 1 << 30
"""Limit on the total bytes of a session's copies."""


def fetched_resource(location: str, session: EngineSession) -> str:
    """Return the path of a local copy of a remote file. The copy keeps the file's name.

    A file that has changed is fetched again into a new folder, because functions may have the old copy open. Raise
    NotAllowedError if the session's statements may not name the location, SourceError 58P01 if there is no file,
    ResourceError 54000 if all copies together exceed MOST_RESOURCE_BYTES.
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
    """Raise ResourceError 54000 if the file and the `taken` bytes exceed MOST_RESOURCE_BYTES. `rule` is the hint."""
    if taken + facts.size_bytes > MOST_RESOURCE_BYTES:
        message = f'"{uri.redacted(facts.path)}" has {facts.size_bytes} bytes, and {taken} are fetched already'
        raise ResourceError(message, hint=rule.format(MOST_RESOURCE_BYTES >> 20), sqlstate="54000")


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
