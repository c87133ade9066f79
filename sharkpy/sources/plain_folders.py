"""New files directly in a folder that Hive and Spark read, too: no generations, and no special names."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.sources import staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import is_hidden_name
from sharkpy.sources.folders.remote_listing import path_below
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.store import ObjectFacts, Store


def new_mark() -> str:
    """Mark of a write in the names of its files: the names of later writes come later."""
    return f"{time.time_ns()}-{uuid4().hex[:8]}"


def marked_name(name: str, mark: str) -> str:
    """Name of a computed file with the mark of its write; other names stay."""
    return name.replace("part-", f"part-{mark}-", 1) if name.startswith(("part-", "bucket-")) else name


def name_of_copy(name: str, number: int) -> str:
    """Name of the copy of a file with this number; number 0 is the file itself."""
    stem, dot, ending = name.partition(".")
    return f"{stem}_copy_{number}{dot}{ending}" if number else name


@dataclass(slots=True)
class PlainFiles:
    """Publication of the files in `staging` as the new content of `folder`, or as additional files.

    1. Additional files: each file is linked there under a free name. A reader may see some of them first.
    2. New content: the two folders swap names, in one step if the system can do that. The old folder stays next to it
       under a hidden name until `clean`. A reader that has listed the old files may then find them gone.
    3. Computed files get names that no other write gives. So a reader never takes a new file for an old one.
    """

    staging: str
    folder: str
    overwrite: bool
    mark: str = field(default_factory=new_mark)
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
        for path in list(Path(aside).rglob("*part-*")):
            path.rename(path.with_name(marked_name(path.name, self.mark)))
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
                self.linked.append(_link(path, Path(self.folder), marked_name(path.name, self.mark)))
        staged_files.sync_folders([self.folder])


def _move_staged(source: str, target: str) -> None:
    """Move hidden folders to `target`: they hold files that another statement, or this one, is about to add."""
    for path in Path(source).iterdir():
        if path.name.startswith((".", "_")) and path.is_dir():
            path.rename(Path(target, path.name))


def _link(path: Path, folder: Path, name: str) -> str:
    """Link a file into a folder; if its name is taken, under Hive's name for a copy: name_copy_1.ext."""
    number = 0
    while True:
        target = folder / name_of_copy(name, number)
        try:
            os.link(path, target)
        except FileExistsError:
            number += 1
        else:
            return str(target)


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
"""Flag of Linux's renameat2(2)."""
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def swap(first: str, second: str) -> None:
    """Swap the names of two folders, in one step if the system can exchange names.

    Otherwise `second` does not exist for a moment. OSError if the system refuses.
    """
    exchange = _renameat2()
    if exchange is not None:
        if exchange(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code not in _NOT_THERE:
            raise OSError(code, os.strerror(code), second)
    aside = Path(first).with_name(f"{Path(first).name}.aside")
    Path(second).rename(aside)
    try:
        Path(first).rename(second)
    except OSError:
        aside.rename(second)
        raise
    aside.rename(first)


@cache
def _renameat2() -> Any:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


_MARK = "_SUCCESS"
"""Empty object that Hadoop's programs put after they have written all files."""


@dataclass(slots=True)
class PlainObjects:
    """Publication of staged objects as the new content of `folder`, or as additional objects.

    Storage cannot rename folders: the store itself copies each object, so that they do not appear all at once. No old
    object is replaced by one of the same name: the new one gets Hive's name for a copy (LOAD DATA keeps names).

    1. Additional objects: a reader may see some of them first.
    2. New content: `clean` deletes the old objects when all new ones are in place. A reader may see both, or find the
       old ones gone.
    """

    staged: Callable[[], Sequence[DataFile]]
    folder: str
    overwrite: bool
    store: Store
    mark: str = field(default_factory=new_mark)
    made: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """The old objects."""

    def place(self) -> None:
        if self.overwrite:
            self.replaced = [one.path for one in checked(self.store.list(self.folder)) if self._is_content(one)]
        files = list(self.staged())
        targets = self._free_paths([marked_name(uri.name_of(file.path), self.mark) for file in files])
        self.made = list(targets)
        parallel_map(self._copy, list(zip(files, targets, strict=True)))
        if self.overwrite and not files:
            # Spark's queries fail if the folder does not exist, and buckets have no empty folders.
            self.made.append(self.store.put(uri.join(self.folder, _MARK), b"").path)

    def take_back(self) -> None:
        """Delete the new objects; ExecutionError 40003 if some may be left."""
        made, self.made, self.replaced = self.made, [], []
        self._delete(made, "rows of the statement that failed", "delete the newest files there")

    def clean(self) -> None:
        """Delete the old objects; ExecutionError 40003 if some may be left next to the new ones."""
        replaced, self.replaced = [path for path in self.replaced if path not in self.made], []
        self._delete(replaced, "rows that were replaced", "run the statement again")

    def _delete(self, paths: Sequence[str], what: str, hint: str) -> None:
        """Delete objects even if the statement was cancelled: otherwise readers see a part of its rows."""
        try:
            with Cancellation().active():
                self.store.delete(paths)
        except SharkError as error:
            message = f'{what} may still be in "{uri.redacted(self.folder)}": {error.message}'
            raise ExecutionError(message, hint=hint, sqlstate="40003") from None

    def _free_paths(self, names: Sequence[str]) -> list[str]:
        """Return a path in the folder for each name. No object has it."""
        # No other write gives the names of computed files.
        asked = [uri.join(self.folder, name) for name in names if self.mark not in name]
        found = parallel_map(self.store.stat, asked)
        taken = {path for path, facts in zip(asked, found, strict=True) if facts is not None}
        free: list[str] = []
        for name in names:
            number = 0
            while (path := uri.join(self.folder, name_of_copy(name, number))) in taken or (
                number and self.store.stat(path) is not None
            ):
                number += 1
            taken.add(path)
            free.append(path)
        return free

    def _copy(self, pair: tuple[DataFile, str]) -> None:
        file, target = pair
        self.store.copy(object_of_file(file), target)

    def _is_content(self, facts: ObjectFacts) -> bool:
        """False for objects in hidden folders: another statement, or this one, is about to add them."""
        first, *below = path_below(facts.path, self.folder).split("/")
        return not (below and is_hidden_name(first))
