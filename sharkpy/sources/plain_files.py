"""New files directly in a folder that Hive and Spark read, too: no generations, and no special names."""

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
    """Publication of the files in `staging` as the new content of `folder`, or as additional files.

    1. Additional files: each file is linked there under a free name. A reader may see some of them first.
    2. New content: the two folders swap names, in one step if the system can do that. The old folder stays next to it
       under a hidden name until `clean`. A reader that has listed the old files may then find them gone.
    """

    staging: str
    folder: str
    overwrite: bool
    linked: list[str] = field(default_factory=list)
    replaced: str | None = None
    """Folder of the old files."""

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
    """Move hidden folders to `target`: they hold files that another statement, or this one, is about to add."""
    for path in Path(source).iterdir():
        if path.name.startswith((".", "_")) and path.is_dir():
            path.rename(Path(target, path.name))


def _link(path: Path, folder: Path) -> str:
    """Link a file into a folder; if its name is taken, under Hive's name for a copy: name_copy_1.ext."""
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
