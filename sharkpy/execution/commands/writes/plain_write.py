"""Writes of tables that other engines write too: files directly in the folder, local or remote."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from sharkpy.base import uri
from sharkpy.catalog.path_gate import local_path
from sharkpy.execution.commands.writes.staging import folder_at
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.folders.table_folder import home_of
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.plain_folders import PlainFiles, PlainObjects


class PlainWrite(Protocol):
    """Publication of staged files as a folder's new content, or in addition to it."""

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def clean(self) -> None:
        """Remove the replaced files after all targets of the statement are in place."""


def plain_write(staging: str, location: str, overwrite: bool, session: EngineSession) -> PlainWrite:
    """Return the write of the staged files into a location that is local or remote like the staging folder."""
    if not uri.is_remote(location):
        return PlainFiles(staging, local_path(location), overwrite)
    store = store_for_access(location, session.catalog.access_id(location))
    staged = partial(folder_at(home_of(staging), session).staged_files, staging)
    return PlainObjects(staged, location, overwrite, store)
