"""New objects directly in a remote folder that Hive and Spark read, too: see `plain_files` for local ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sharkpy.base import uri
from sharkpy.base.cancellation import checked
from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.sources.folders.generations import is_hidden_name
from sharkpy.sources.folders.remote_listing import path_below
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import facts_of
from sharkpy.sources.side_by_side import side_by_side
from sharkpy.sources.storage.store import ObjectFacts, Store

_MARK = "_SUCCESS"
"""Empty object that Hadoop's programs put after they have written all files."""


@dataclass(slots=True)
class PlainObjects:
    """Publication of staged objects as the new content of `folder`, or as additional objects.

    Storage cannot rename folders: the store itself copies each object, so that they do not appear all at once. The
    names of staged objects are unique.

    1. Additional objects: a reader may see some of them first.
    2. New content: `clean` deletes the old objects when all new ones are in place. A reader may see both, or find the
       old ones gone.
    """

    staged: Callable[[], Sequence[DataFile]]
    folder: str
    overwrite: bool
    store: Store
    made: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """The old objects."""

    def place(self) -> None:
        if self.overwrite:
            self.replaced = [one.path for one in checked(self.store.list(self.folder)) if self._is_content(one)]
        files = list(self.staged())
        self.made = [uri.join(self.folder, uri.name_of(file.path)) for file in files]
        side_by_side(self._copy, files)
        if self.overwrite and not files:
            # Spark's queries fail if the folder does not exist, and buckets have no empty folders.
            self.made.append(self.store.put(uri.join(self.folder, _MARK), b"").path)

    def take_back(self) -> None:
        made, self.made, self.replaced = self.made, [], []
        self.store.delete(made)

    def clean(self) -> None:
        """Delete the old objects; ExecutionError 40003 if some may be left next to the new ones."""
        replaced, self.replaced = [path for path in self.replaced if path not in self.made], []
        try:
            self.store.delete(replaced)
        except SharkError as error:
            raise ExecutionError(
                f'rows that were replaced may still be in "{uri.redacted(self.folder)}", beside the new ones: '
                f"{error.message}",
                hint="run the statement again",
                sqlstate="40003",
            ) from None

    def _copy(self, file: DataFile) -> None:
        self.store.copy(facts_of(file), uri.join(self.folder, uri.name_of(file.path)))

    def _is_content(self, facts: ObjectFacts) -> bool:
        """False for objects in hidden folders: another statement, or this one, is about to add them."""
        first, *below = path_below(facts.path, self.folder).split("/")
        return not (below and is_hidden_name(first))
