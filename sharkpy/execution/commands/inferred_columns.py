"""Columns of a table that declares none: those of its files, when it is made."""

from __future__ import annotations

import dataclasses

from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateTable
from sharkpy.sources import layout
from sharkpy.sources.csv_files.inference import inferred_columns


def with_inferred_columns(command: CreateTable, session: EngineSession) -> CreateTable:
    """`command` with the columns of its files, if it has none; SourceError where these tell none."""
    if len(command.schema) or command.storage is None or command.location is None:
        return command
    session.restrictions.check_path(command.location)
    files = layout.list_data_files(command.location)
    return dataclasses.replace(command, schema=inferred_columns(files, command.storage.properties))
