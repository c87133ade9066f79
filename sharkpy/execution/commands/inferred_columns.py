"""Columns of a new table that declares none, inferred from its files."""

from __future__ import annotations

import dataclasses

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateTable
from sharkpy.sources.named_files import files_at
from sharkpy.sources.undeclared_columns import columns_of_files


def with_inferred_columns(command: CreateTable, session: EngineSession) -> CreateTable:
    """Return `command` with the columns of its files if it declares none.

    Raise SourceError if the files do not define columns, or are in folders of Hive partitions.
    """
    if len(command.schema) or command.storage is None or command.location is None:
        return command
    found = files_at(command.location, session.restrictions.check_path, session.catalog.named_access_id)
    if found.partitions:
        message = f'"{uri.redacted(command.location)}" has folders of Hive partitions, as "{found.partitions[0][0]}"'
        raise SourceError(message, hint="declare the columns and PARTITIONED BY", sqlstate="42000")
    return dataclasses.replace(command, schema=columns_of_files(found.files, command.storage))
