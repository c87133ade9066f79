"""Writers of one folder, in any order of their steps: a remote folder holds what a local one holds, and no more."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule

from sharkpy.base import uri
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.folders.table_folder import TableFolder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import object_of_file
from sharkpy.sources.parallel_requests import parallel_map
from tests.storage.places import memory_store

TEXTS = st.lists(st.sampled_from("abcdef"), max_size=2)
Pair = tuple[str, str]
"""A staging folder of the local folder, and one of the remote folder."""


class Writers(RuleBasedStateMachine):
    """Writers of a local folder and of a remote one. `newest`: the last committed generation; None without a catalog.
    `least`: up to where hidden ones were removed.
    """

    stagings: Bundle[Pair] = Bundle("stagings")

    def __init__(self) -> None:
        super().__init__()
        self.path = tempfile.mkdtemp()
        self.local = LocalFolder(f"{self.path}/t")
        self.remote = RemoteFolder("s3://memory/t", memory_store(), uuid4().hex)
        self.newest: int | None = None
        self.least = 0
        self.open: set[Pair] = set()
        self.last: tuple[Placed, Placed] | None = None
        """The last generation, while nothing has come after it."""

    def teardown(self) -> None:
        for local, remote in self.open:
            self.local.discard_staging(local)
            self.remote.discard_staging(remote)
        self.remote.remove_hidden(self.newest)
        if self.newest is not None:
            self.remote.remove_beyond(self.newest)
        kept = {file.path for _, files in self.remote.visible() for file in files}
        found = {facts.path for facts in self.remote.store.list("s3://memory/t")}
        assert {path for path in found if "/_generations/" not in path} == kept
        shutil.rmtree(self.path)

    @initialize(is_numbered=st.booleans(), plain=TEXTS)
    def begin(self, is_numbered: bool, plain: list[str]) -> None:
        self.newest = 0 if is_numbered else None
        Path(self.local.path).mkdir()
        for number, text in enumerate(plain):
            Path(self.local.path, f"plain-{number}").write_text(text)
            self.remote.store.put(f"{self.remote.location}/plain-{number}", text.encode())

    @rule(target=stagings, texts=TEXTS, is_reported=st.booleans())
    def stage(self, texts: list[str], is_reported: bool) -> Pair:
        local, remote = (folder.make_staging(folder.new_staging()) for folder in (self.local, self.remote))
        for number, text in enumerate(texts):
            Path(local, f"part-{number}").write_text(text)
            facts = self.remote.store.put(f"{remote}/part-{number}", text.encode())
            if is_reported:
                STAGED.report(remote, [DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)])
        if is_reported and texts:
            self.remote.store.put(f"{remote}/part-of-a-lost-task", b"x")
        self.open.add((local, remote))
        return local, remote

    @rule(staging=consumes(stagings), overwrite=st.booleans(), counts=st.booleans())
    def place(self, staging: Pair, overwrite: bool, counts: bool) -> None:
        """Place rows. If the catalog commits generations, its transaction may fail, or its process may die."""
        if self.newest is None:
            placed = self.local.place(staging[0], overwrite), self.remote.place(staging[1], overwrite)
        else:
            placed = (
                self.local.place_after(staging[0], self.newest, overwrite),
                self.remote.place_after(staging[1], self.newest, overwrite),
            )
        self._note(placed)
        if self.newest is not None and counts and placed[0] is not None:
            self.newest = placed[0].number
        self._discard(staging)

    @rule(staging=consumes(stagings))
    def discard(self, staging: Pair) -> None:
        self._discard(staging)

    @precondition(lambda self: self.last is not None)
    @rule()
    def take_back(self) -> None:
        """A commit that fails undoes what was placed last. What counts by the catalog is not undone."""
        assert self.last is not None
        local, remote = self.last
        if self.newest is None or local.number > self.newest:
            self.local.take_back(local)
            self.remote.take_back(remote)
        self.last = None

    @rule(first=st.integers(0, 5), length=st.integers(2, 4))
    def fold(self, first: int, length: int) -> None:
        visible = [one for one in self.local.visible(self.newest) if one[0].is_delta][first : first + length]
        if len(visible) < 2:
            return
        wanted = [one for one in self.remote.visible(self.newest) if one[0].is_delta][first : first + length]
        assert [one for one, _ in visible] == [one for one, _ in wanted]
        staging = self.stage([text for _, files in visible for text in contents(self.local, files)][:2], True)
        # A fold has only existing rows: the machine folds just the first of them.
        self._note(
            (
                self.local.place_fold(staging[0], visible, self.newest),
                self.remote.place_fold(staging[1], wanted, self.newest),
            )
        )
        self._discard(staging)

    @precondition(lambda self: self.newest is not None)
    @rule(back=st.integers(0, 3))
    def roll_back(self, back: int) -> None:
        assert self.newest is not None
        to = max(self.least, self.newest - back)
        staging = self.stage([], False)
        self.local.second_names(to, staging[0])
        self.remote.second_names(to, staging[1])
        self.place(staging, overwrite=True, counts=True)

    @rule()
    def remove_hidden(self) -> None:
        assert self.local.hidden(self.newest) == self.remote.hidden(self.newest)
        self.local.remove_hidden(self.newest)
        self.remote.remove_hidden(self.newest)
        self.least = self.newest or 0
        self.last = None

    @precondition(lambda self: self.newest is not None)
    @rule()
    def remove_beyond(self) -> None:
        assert self.newest is not None
        self.local.remove_beyond(self.newest)
        self.remote.remove_beyond(self.newest)

    @invariant()
    def is_same(self) -> None:
        for newest in {None, self.newest}:
            found, expected = self.remote.visible(newest), self.local.visible(newest)
            assert [one for one, _ in found] == [one for one, _ in expected]
            files = [[file for _, files in one for file in files] for one in (expected, found)]
            assert contents(self.local, files[0]) == contents(self.remote, files[1])
        assert self.remote.newest() == self.local.newest()

    def _note(self, placed: tuple[Placed | None, Placed | None]) -> None:
        local, remote = placed
        assert (local and local.name) == (remote and remote.name)
        self.last = None if local is None or remote is None else (local, remote)

    def _discard(self, staging: Pair) -> None:
        self.local.discard_staging(staging[0])
        self.remote.discard_staging(staging[1])
        self.open.discard(staging)


def contents(folder: TableFolder, files: list[DataFile]) -> list[str]:
    if not isinstance(folder, RemoteFolder):
        return [Path(file.path).read_text() for file in files]
    return [
        b"".join(map(bytes, folder.store.read(object_of_file(one), [(0, one.size_bytes)]))).decode() for one in files
    ]


TestWriters = Writers.TestCase
TestWriters.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("overwrite", [False, True])
def test_writers_at_once(overwrite: bool) -> None:
    """Each gets a number of its own."""
    one = RemoteFolder("s3://memory/t", memory_store(), uuid4().hex)

    def write(number: int) -> Placed | None:
        staging = one.make_staging(one.new_staging())
        one.store.put(uri.join(staging, "part-0"), f"{number:03d}".encode())
        placed = one.place(staging, overwrite)
        one.discard_staging(staging)
        return placed

    placed = parallel_map(write, range(24))
    assert sorted(each.number for each in placed if each is not None) == list(range(1, 25))
    found = contents(one, one.files())
    assert sorted(found) == [f"{number:03d}" for number in range(24)] if not overwrite else len(found) == 1
