"""CREATE, ALTER and DROP DATABASE, USE."""

from __future__ import annotations

import dataclasses

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.names import DEFAULT_DATABASE
from sharkpy.catalog.path_gate import local_path
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import AlterDatabase, CreateDatabase, DropDatabase, UseDatabase
from sharkpy.sources.open_files import store_for_access


def create_database(command: CreateDatabase, session: EngineSession) -> CommandResult:
    location = None
    if command.location is not None:
        location = _place(command.location, session)
    session.catalog.create_database(
        command.name,
        if_not_exists=command.if_not_exists,
        comment=command.comment,
        location=location,
        properties=command.properties,
        owner=user_name(session.conf),
    )
    return NOTHING


def alter_database(command: AlterDatabase, session: EngineSession) -> CommandResult:
    """Alter a database; its existing tables stay in place."""
    altered = command.altered
    if altered.location != command.database.location:
        altered = dataclasses.replace(altered, location=_place(altered.location, session))
    session.catalog.alter_database(altered)
    return NOTHING


def _place(location: str, session: EngineSession) -> str:
    """Check and return the folder of a database.

    Raise NotAllowedError if the session may not name it, UnsupportedError if tables cannot be written there.
    """
    from sharkpy.sources.storage.stores import is_supported

    session.restrictions.check_location(location)
    if not uri.is_remote(location) or not is_supported(location):
        return local_path(location)
    traits = store_for_access(location, session.catalog.named_access_id(location)).traits
    if not (traits.writes and traits.lists):
        raise UnsupportedError(f'a database cannot be in "{uri.redacted(location)}": its server is read-only')
    return location.rstrip("/")


def drop_database(command: DropDatabase, session: EngineSession) -> CommandResult:
    """Drop a database; a session that uses it continues in the default database."""
    if command.cascade and session.catalog.find_database(command.name) is not None:
        for table in session.catalog.tables(command.name.lower()):
            if table.owns_data:
                session.catalog.check_owned_folders(table)
    dropped = session.catalog.drop_database(command.name, if_exists=command.if_exists, cascade=command.cascade)
    for table in dropped:
        session.table_cache.drop(table)
    session.catalog.collect_garbage()
    if session.current_database == command.name.lower():
        session.current_database = DEFAULT_DATABASE
    return NOTHING


def use_database(command: UseDatabase, session: EngineSession) -> CommandResult:
    session.current_database = session.catalog.database(command.name).name
    return NOTHING
