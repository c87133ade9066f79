"""New files right in a folder that Hive and Spark read as well: no generations, no names that only we know."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sharkpy.sources import staged_files
from sharkpy.sources.failures import io_error
from sharkpy.sources.folder_swap import swap


@dataclass(slots=True)
class PlainFiles:
    """Publication of the files in `staging` as the content of `folder`, or as more of it.

    1. More of it: each file is linked there under a name that is free. A reader may see some of them first.
    2. Instead of it: the two folders change names at once, where the system can do that. What was there before is
       beside it under a hidden name until `clean`; a reader that has listed the old files may find them gone then.
    """

    staging: str
    folder: str
    overwrite: bool
    linked: list[str] = field(default_factory=list)
    replaced: str | None = None
    """Folder of the files that were there before."""

    def place(self) -> None:
        try:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            if self.overwrite:
                self._replace()
            else:
                self._add()
        except OSError as error:
            raise io_error(error, self.folder) from None

    def take_back(self) -> None:
        for path in self.linked:
            with suppress(OSError):
                Path(path).unlink()
        self.linked.clear()
        if self.replaced is not None:
            aside, self.replaced = self.replaced, None
            with suppress(OSError):
                swap(aside, self._target())
                _move_staged(aside, self._target())
            shutil.rmtree(aside, ignore_errors=True)

    def clean(self) -> None:
        if self.replaced is not None:
            shutil.rmtree(self.replaced, ignore_errors=True)
            staged_files.remove_abandoned(str(Path(self.replaced).parent))

    def _target(self) -> str:
        return str(Path(self.folder).resolve())

    def _replace(self) -> None:
        target = self._target()
        aside = staged_files.staging_path(str(Path(target).parent))
        Path(self.staging).rename(aside)
        try:
            shutil.copymode(target, aside)
            swap(aside, target)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        self.replaced = aside
        _move_staged(aside, target)
        staged_files.sync_folders([target, str(Path(target).parent)])

    def _add(self) -> None:
        Path(self.staging).stat()
        for path in sorted(Path(self.staging).rglob("*")):
            if path.is_file():
                self.linked.append(_link(path, Path(self.folder)))
        staged_files.sync_folders([self.folder])


def _move_staged(source: str, target: str) -> None:
    """Hidden folders are what others, or this statement, are about to add: they stay in the folder of that name."""
    for path in Path(source).iterdir():
        if path.name.startswith((".", "_")) and path.is_dir():
            path.rename(Path(target, path.name))


def _link(path: Path, folder: Path) -> str:
    """Link a file into a folder; where its name is taken, under Hive's name for a copy: name_copy_1.ext."""
    stem, dot, ending = path.name.partition(".")
    number = 0
    while True:
        target = folder / (f"{stem}_copy_{number}{dot}{ending}" if number else path.name)
        try:
            os.link(path, target)
        except FileExistsError:
            number += 1
        else:
            return str(target)
