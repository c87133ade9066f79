"""Finder of the files in a folder of a bucket or of HDFS, by as few listings as possible."""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation
from sharkpy.base.errors import CancelledError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import STREAM_LIST_MOST_MS, STREAM_LIST_MS
from sharkpy.catalog.stream_store import StreamFile
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import data_file_of, store_for_access
from sharkpy.sources.parallel_requests import parallel_map
from sharkpy.sources.storage.meter import METER
from sharkpy.streaming.sources.interfaces import FoundFile, LookFigures, is_ignored, is_same

if TYPE_CHECKING:
    from sharkpy.base.settings import Conf
    from sharkpy.sources.storage.store import ObjectFacts, Store

_IDLE_SHARE = 0.1
"""Share of the time since the last new file that passes until the next look."""
_OPEN_NS = 3_600_000_000_000
"""Time without a change after which a file that seems to be open counts as complete.

A name node closes the files of a lost writer in less time.
"""
_FULL_SECONDS = 600.0
"""Interval at which a folder is listed as a whole even if names ascend."""


@dataclass(frozen=True, slots=True)
class RemoteLooks:
    """Settings of the engine for looks at remote folders, and the engine's end, which cancels the looks."""

    conf: Conf
    ended: Cancellation = field(default_factory=Cancellation)


class RemoteFinder:
    """`Finder` of the objects below a remote folder.

    1. An object is complete when it exists. A file of HDFS is complete when its writer has closed it.
    2. Each look is a listing. The next look is due after a time for each page of the listing, or after a tenth of the
       time since the last new file, if that is more, up to a limit.
    3. If the store lists by name, and if all files came in the order of their names, a listing begins after the last
       name. After as many such looks as a full listing has pages, the whole folder is listed.
    4. After an error, all looks raise it until the next one is due.
    """

    def __init__(self, folder: str, settle_ns: int | None, access: Callable[[str], str], looks: RemoteLooks) -> None:
        """`settle_ns`: nanoseconds without a write after which a file is complete; None: at once.

        `access` returns the access of the engine's owner to a location.
        """
        self.unsettled = 0.0
        self._figures = LookFigures()
        self.figures: LookFigures | None = self._figures
        self._folder = folder
        self._settle_ns = settle_ns
        self._access = access
        self._looks = looks
        self._due = -math.inf
        self._news = math.inf
        """Time of the last look that found new files."""
        self._fault: SharkError | None = None
        self._seen: dict[str, tuple[tuple[int, int, str], int]] = {}
        """Size, time and tag of files that are not complete, and when they were first seen in that state."""
        self._pages = 0
        """Requests of the last listing of the whole folder; 0 if such a listing is due."""
        self._listed = -math.inf
        self._behind = 0
        """Number of looks since then that began after the last name."""
        self._ordered = 0
        """Number of known files whose names were compared."""
        self._last = ""
        self._is_ascending = True

    def has_news(self) -> bool:
        return False

    def is_due(self, now: float) -> bool:
        if now >= self._due:
            return True
        if self._fault is not None:
            raise copy.copy(self._fault)
        return False

    def find(self, known: dict[str, StreamFile], now: float, *, is_thorough: bool) -> list[FoundFile]:
        self._fault = None
        found, pages = self._find(known, now, is_thorough=is_thorough)
        if self._news == math.inf or any(one.name not in known for one in found):
            self._news = now
        self._wait(pages)
        return found

    def list_again(self, fault: BaseException) -> None:
        self._pages = 0
        if isinstance(fault, SharkError) and not isinstance(fault, CancelledError):
            self._fault = fault
            self._wait(1)

    def data_files(self, files: Sequence[StreamFile], *, is_strict: bool) -> Sequence[DataFile | None]:
        access = self._access(self._folder)
        if is_strict:
            return [self._data_file(one, access) for one in files]
        store = store_for_access(self._folder, access)
        return parallel_map(lambda one: self._as_it_is(store, one, access), files)

    def close(self) -> None:
        pass

    def _wait(self, pages: int) -> None:
        """Set the time at which the next look is due."""
        least, most = (self._looks.conf.value(one) / 1000 for one in (STREAM_LIST_MS, STREAM_LIST_MOST_MS))
        now = time.monotonic()
        idle = max(0.0, now - self._news)
        self._due = now + min(max(least * pages, idle * _IDLE_SHARE), max(least, most))

    def _find(self, known: dict[str, StreamFile], now: float, *, is_thorough: bool) -> tuple[list[FoundFile], int]:
        """Return the files that were found, and the requests of one listing."""
        store = store_for_access(self._folder, self._access(self._folder))
        self._note_order(known)
        is_whole = is_thorough or not self._may_look_behind(store, now)
        with self._looking() as look:
            found, pages = self._listed_once(store, known, "" if is_whole else f"{self._folder}/{self._last}", look)
            new = [one.modified_ns for one in found if one.name not in known]
            if is_whole and pages > 1 and new:
                # A listing is made page by page: if objects arrive meanwhile, it may find a later one and miss an
                # earlier one. Objects newer than all new objects of the first listing are left for the next look.
                listed, latest = self._listed_once(store, known, "", look)[0], max(new)
                found = [one for one in listed if one.name in known or one.modified_ns <= latest]
        if is_whole:
            self._pages, self._listed, self._behind = pages, now, 0
        else:
            self._behind += 1
        waiting = [one for one in found if not one.is_whole]
        self._seen = {one.name: self._seen[one.name] for one in waiting}
        # Files that continue to be written are not waited for.
        self.unsettled = 0.0 if self._settle_ns is None else max((one.settles for one in waiting), default=0.0)
        return found, pages

    def _may_look_behind(self, store: Store, now: float) -> bool:
        """Return True if a listing from the last name on is cheaper, and finds all new files."""
        is_recent = now - self._listed < _FULL_SECONDS and self._behind < self._pages
        return store.traits.is_sorted and self._pages > 1 and self._is_ascending and is_recent and not self._seen

    def _note_order(self, known: dict[str, StreamFile]) -> None:
        """Record whether files became known in the order of their names."""
        names = list(itertools.islice(reversed(known), max(0, len(known) - self._ordered)))
        for name in reversed(names):
            self._is_ascending = self._is_ascending and name > self._last
            self._last = max(self._last, name)
        self._ordered = len(known)

    @contextmanager
    def _looking(self) -> Iterator[Cancellation]:
        """Run a look, which the end of the engine, or of its statement, cancels. Count its requests."""
        look = Cancellation()
        with ExitStack() as ends:
            for outer in filter(None, (self._looks.ended, current_cancellation())):
                ends.callback(outer.on_cancel(partial(_end, look, outer)))
            try:
                with look.active():
                    yield look
            finally:
                self._figures.looks += 1
                self._figures.requests += METER.of(look).requests

    def _listed_once(
        self, store: Store, known: dict[str, StreamFile], after: str, look: Cancellation
    ) -> tuple[list[FoundFile], int]:
        """List the folder, or the part after a path in it.

        Return objects that are new or have changed, and the requests.
        """
        before, found = METER.of(look).requests, list[FoundFile]()
        for facts in store.list(self._folder, after=after):
            check_cancelled()
            name = facts.path[len(self._folder) + 1 :]
            # An object without bytes may be the marker of a folder.
            if not facts.size_bytes or any(map(is_ignored, name.split("/"))):
                continue
            one = FoundFile(name, facts.size_bytes, facts.modified_ns, 0.0, facts.tag)
            file = known.get(name)
            if file is None:
                found.append(
                    FoundFile(name, facts.size_bytes, facts.modified_ns, self._settles(name, facts), facts.tag)
                )
            elif not is_same(file, one):
                found.append(one)
        return found, METER.of(look).requests - before

    def _settles(self, name: str, facts: ObjectFacts) -> float:
        """Return the seconds after which a file counts as complete; 0 if it is complete."""
        if not facts.is_open and self._settle_ns is None:
            return 0.0
        now, state = time.monotonic_ns(), (facts.size_bytes, facts.modified_ns, facts.tag)
        seen, since = self._seen.get(name, (state, now))
        self._seen[name] = (state, since if seen == state else now)
        age = now - self._seen[name][1]
        if not facts.is_open:
            age = max(age, time.time_ns() - facts.modified_ns)
        return max(0, (self._settle_ns or _OPEN_NS) - age) / 1e9

    def _data_file(self, file: StreamFile, access: str) -> DataFile:
        path = f"{self._folder}/{file.name}"
        return DataFile(path, file.size_bytes, file.modified_ns, tag=file.tag, access=access)

    def _as_it_is(self, store: Store, file: StreamFile, access: str) -> DataFile | None:
        facts = store.stat(f"{self._folder}/{file.name}")
        return None if facts is None else data_file_of(facts, access)


def _end(look: Cancellation, outer: Cancellation) -> None:
    look.cancel(outer.error)
