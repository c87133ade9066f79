"""Files of one or many Hive partitions put in place at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.partition_changes import PartitionChanges
from sharkpy.execution.commands.partition_spec import by_values
from sharkpy.execution.commands.session import CommandSession
from sharkpy.sources import layout
from sharkpy.sources.partition_values import typed_values


def publish_partitions(
    table: Table, staging: str, names: Sequence[str], overwrite: bool, session: CommandSession
) -> None:
    """Make `staging`/name the data of each Hive partition of `names`, which are registered where they are new.

    1. The new generation of each is put in place, beyond what counts: no reader looks at it.
    2. One commit of the catalog lets all of them count. Before it nothing is changed, whatever happens.
    3. With `overwrite` they replace what these Hive partitions had, and what they hide is deleted afterwards.
    """
    _settle(table, names, session)
    layout.sync_staged(staging)
    write = _Write(table, staging, overwrite)
    try:
        with session.catalog.partition_changes(table) as changes:
            for name, known in _targets(table, names, changes).items():
                if known is None:
                    session.catalog.clear_garbage(str(Path(table.location or "", name)))
                write.place(name, known, changes)
            layout.sync_folders(folder for folder, _, _ in write.placed)
    except BaseException:
        write.undo()
        raise
    layout.discard_staging(staging)
    for folder, _, newest in write.placed:
        layout.remove_hidden(folder, newest)
    layout.remove_hidden(table.location or "")


def _settle(table: Table, names: Sequence[str], session: CommandSession) -> None:
    """A Hive partition of which everything counts gets a last generation that does, before there is a further one."""
    with session.catalog.partition_changes(table) as changes:
        wanted = {one.name: one for one in _targets(table, names, changes).values() if one is not None}
        for one in wanted.values():
            if one.newest is None:
                newest = layout.newest_generation(one.folder(table))
                changes.alter(one, dataclasses.replace(one, newest=newest))


def _targets(table: Table, names: Sequence[str], changes: PartitionChanges) -> dict[str, HivePartition | None]:
    """The registered Hive partition for each name: one with equal values may be spelt in another way."""
    if all(name in changes.known for name in names):
        return {name: changes.known[name] for name in names}
    known = by_values(table, changes.known.values())
    values = typed_values(names, table.partition_schema)
    return {name: changes.known.get(name) or known.get(value) for name, value in zip(names, values, strict=True)}


@dataclass(slots=True)
class _Write:
    table: Table
    staging: str
    overwrite: bool
    placed: list[tuple[str, int, int]] = field(default_factory=list)
    """Folder, the generation that counted before, and the new one."""

    def place(self, name: str, known: HivePartition | None, changes: PartitionChanges) -> None:
        folder = str(Path(self.table.location or "", name)) if known is None else known.folder(self.table)
        before = self._newest(known, folder)
        generation = layout.place_generation(str(Path(self.staging, name)), folder, before, self.overwrite)
        self.placed.append((folder, before, generation))
        if known is None:
            changes.add(name, newest=generation)
        else:
            changes.alter(known, dataclasses.replace(known, newest=generation))

    def _newest(self, known: HivePartition | None, folder: str) -> int:
        """Of a folder that is not registered: an external table's may have been, and keeps what it has."""
        if known is None and self.table.kind is not TableKind.EXTERNAL:
            return 0
        if known is None or known.newest is None:
            return layout.newest_generation(folder)
        return known.newest

    def undo(self) -> None:
        for folder, before, _ in self.placed:
            layout.remove_generations(folder, before)
