"""Changes of the columns of an Iceberg table."""

from __future__ import annotations

import itertools
from typing import Any

from pyiceberg.table import Table as IcebergHandle

from sharkpy.sources.lake.iceberg.types import iceberg_type
from sharkpy.values.types import Schema


def change_columns(handle: IcebergHandle, old: Schema, new: Schema, renamed: tuple[str, str] | None) -> None:
    """Change the columns of a table from `old` to `new`, in one commit.

    `renamed`: a column's name before and after; other columns are added or dropped. Types may only become wider:
    pyiceberg refuses other changes.
    """
    stored = {field.name.lower(): field.name for field in handle.schema().fields}
    before = {} if renamed is None else {renamed[1]: renamed[0]}
    gone = [name for name in old.names if name not in new.names and name not in before.values()]
    with handle.update_schema(case_sensitive=True) as update:
        for name in gone:
            update.delete_column(stored[name])
        for field in new:
            name = before.get(field.name, field.name)
            if name not in stored:
                found = iceberg_type(field.dtype, field.name, itertools.count(1))
                update.add_column(field.name, found, doc=field.comment)
                continue
            was = old[name]
            if field.dtype != was.dtype:
                update.update_column(stored[name], iceberg_type(field.dtype, field.name, itertools.count(1)))
            if field.comment != was.comment:
                update.update_column(stored[name], doc=field.comment)
            if name != field.name:
                update.rename_column(stored[name], field.name)
        _order(update, old, new, before, stored)


def _order(update: Any, old: Schema, new: Schema, before: dict[str, str], stored: dict[str, str]) -> None:
    """Reorder the columns, if existing ones have moved, or a new one is not at the end."""
    wanted = [before.get(name, name) for name in new.names]
    kept = [name for name in old.names if name in wanted]
    if wanted[: len(kept)] == kept:
        return
    places = [stored.get(name, name) for name in wanted]
    update.move_first(places[0])
    for behind, name in itertools.pairwise(places):
        update.move_after(name, behind)
