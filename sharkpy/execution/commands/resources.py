"""ADD, LIST and DELETE of JARs, files and archives for a session's functions and scripts."""

from __future__ import annotations

from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.catalog.path_gate import local_path, open_regular
from sharkpy.execution.commands.command_result import CommandResult, done, text_rows
from sharkpy.execution.commands.fetched_resources import fetched_resource
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import AddResources, DeleteResources, ListResources


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
