"""Columns of files that their stream lacks: they stop the epoch, or are added to the stream."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import BindError
from sharkpy.catalog.stream_kinds import ADD, FORMATS, NEW_COLUMNS, STOP, new_columns_of
from sharkpy.execution.commands.storage import stored_type
from sharkpy.sources.json_columns import MOST_KEYS, common_type
from sharkpy.sources.undeclared_columns import AdditionalColumn, additional_columns
from sharkpy.values.type_parser import type_text
from sharkpy.values.types import DataType, Field, Schema

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.sources.layout import DataFile

_SHOWN = 20
"""Maximum number of new columns that an error lists."""
_log = logging.getLogger(__name__)


def settle_new_columns(stream: Table, files: Sequence[DataFile], catalog: Catalog) -> Table:
    """Apply a stream's policy for columns of `files` that it lacks, before an epoch reads them.

    Return the stream as altered. Raise BindError if the policy is to stop, or if a column cannot be added. Added
    columns stay if the epoch fails, since it runs again.
    """
    policy = new_columns_of(stream)
    # Catalogs of earlier versions may have any value, with any format.
    if policy not in (ADD, STOP) or stream.storage.name not in FORMATS:
        return stream
    added: dict[str, DataType] = {}
    for file in files:
        check_cancelled()
        computed = {one.name for one in stream.computed}
        found = [one for one in additional_columns(file, stream.schema, stream.storage) if one.name not in computed]
        if found and policy == STOP:
            raise _stopped(stream, file, found)
        _check_added(stream, file, found, added)
        for one in found:
            added[one.name] = _common(added.get(one.name), one.dtype, stream)
    if not added:
        return stream
    fields = tuple(Field(name, stored_type(dtype)) for name, dtype in added.items())
    altered = dataclasses.replace(stream, schema=Schema((*stream.schema, *fields)))
    settled = catalog.alter_table(altered, was=stream)
    _log.info("stream %s: the columns %s were added", stream.qualified_name, ", ".join(added))
    return settled


def _common(known: DataType | None, dtype: DataType, stream: Table) -> DataType:
    """Return the type of a column in several files: the type in the first file, or for JSON a type for all values."""
    if known is None:
        return dtype
    return common_type(known, dtype) if stream.storage.name == "json" else known


def _check_added(stream: Table, file: DataFile, found: Sequence[AdditionalColumn], added: Iterable[str]) -> None:
    hint = f"ALTER TABLE … SET TBLPROPERTIES ('{NEW_COLUMNS}' = 'ignore') leaves new columns out; then RESUME"
    what = f'columns of "{file.path}" cannot be added to the stream {stream.qualified_name}'
    for one in found:
        if one.obstacle:
            raise BindError(f"{what}: {one.obstacle}", hint=hint, sqlstate="42611")
    if len({*added, *(one.name for one in found)}) > MOST_KEYS:
        raise BindError(f"{what}: there are more than {MOST_KEYS} new ones", hint=hint, sqlstate="54011")


def _stopped(stream: Table, file: DataFile, found: Sequence[AdditionalColumn]) -> BindError:
    names = ", ".join(one.name for one in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    columns = ", ".join(f"`{one.name}` {type_text(stored_type(one.dtype))}" for one in found[:_SHOWN])
    hint = (
        f"ALTER TABLE {stream.qualified_name} ADD COLUMNS ({columns}), or SET TBLPROPERTIES ('{NEW_COLUMNS}' ="
        " 'ignore'); then RESUME"
    )
    message = f'"{file.path}" has columns that the stream {stream.qualified_name} lacks: {names}{more}'
    return BindError(message, hint=hint, sqlstate="42703")
