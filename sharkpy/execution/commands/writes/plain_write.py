"""Writes of tables that others write too: files lie right in the folder, local or remote."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from sharkpy.base import uri
from sharkpy.catalog.local_path import local_path
from sharkpy.execution.commands.writes.staging import folder_at
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources.folders.table_folder import home_of
from sharkpy.sources.local_copy import store_with
from sharkpy.sources.plain_files import PlainFiles
from sharkpy.sources.plain_objects import PlainObjects


class PlainWrite(Protocol):
    """Publication of staged files as the content of a folder, or as more of it."""

    def place(self) -> None: ...

    def take_back(self) -> None: ...

    def clean(self) -> None:
        """Remove what was there before, once all of a statement is in place."""


def plain_write(staging: str, location: str, overwrite: bool, session: EngineSession) -> PlainWrite:
    """Write of what is staged, at a location that is local or remote as the staging folder is."""
    if not uri.is_remote(location):
        return PlainFiles(staging, local_path(location), overwrite)
    store = store_with(location, session.catalog.access_id(location))
    staged = partial(folder_at(home_of(staging), session).staged_files, staging)
    return PlainObjects(staged, location, overwrite, store)
