"""Log of files: after any commits and folds, it tells the files of each commit, in the order of their rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.file_log import FileLog, LoggedFile
from tests.examples import examples

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 3), st.just(0)),
        st.tuples(st.just("overwrite"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("fold"), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("fail"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("forget"), st.integers(0, 9), st.just(0)),
    ),
    max_size=25,
)


def logged(*names: str) -> list[LoggedFile]:
    return [LoggedFile(f"/{name}", 1, 2) for name in names]


def names_of(files: Iterable[LoggedFile] | None) -> list[str]:
    return [one.path[1:] for one in files or ()]


def begun(log: FileLog, folder: str) -> int:
    log.begin(folder, "")
    found = log.find(folder)
    assert found is not None
    return found


@given(STEPS)
@hypothesis.settings(max_examples=examples(200))
def test_files_of_each_commit(steps: list[tuple[str, int, int]]) -> None:
    """The model has the rows of each commit; a file is named after its rows."""
    with tempfile.TemporaryDirectory() as root, closing(Catalog(root)) as catalog:
        log, folder = catalog.log, begun(catalog.log, f"{root}/t")
        rows, commits, count, forgotten = list[str](), {0: list[str]()}, 0, 0
        for step, first, second in steps:
            before = log.newest(folder)
            names = [f"{count + number}" for number in range(first)]
            if step in ("add", "overwrite"):
                count += first
                number = log.commit(folder, logged(*names), overwrite=step == "overwrite")
                assert number > before
                kept = [] if step == "overwrite" else rows
                added = log.added(folder, before, number)
                assert added is None if step == "overwrite" else names_of(added) == names
                rows = [*kept, *names]
                commits[number] = rows
            elif step == "fail":
                with suppress(ZeroDivisionError), catalog.transaction():
                    log.commit(folder, logged("never"), overwrite=bool(first))
                    raise ZeroDivisionError
            elif step == "fold":
                runs = log.files(folder)[first : first + second]
                positions = sorted({one.position for one in runs})
                if len(positions) > 1:
                    whole = [one for one in log.files(folder) if positions[0] <= one.position <= positions[-1]]
                    name = "+".join(names_of(whole))
                    log.fold(folder, positions[0], whole[-1].added, logged(name))
            else:
                until = sorted(commits)[min(first, len(commits) - 1)]
                log.forget_removed(folder, log.removed(folder, until))
                forgotten = max(forgotten, until)
            for number, expected in commits.items():
                if number >= forgotten:
                    found = names_of(log.files(folder, number))
                    assert "+".join(found) == "+".join(expected)
                for after in (one for one in commits if forgotten <= one < number):
                    more = log.added(folder, after, number)
                    assert more is None or commits[after] + names_of(more) == expected
            assert "+".join(names_of(log.files(folder))) == "+".join(rows)


def test_files_that_a_later_fold_has_are_not_added_ones(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path)) as catalog:
        log, folder = catalog.log, begun(catalog.log, f"{tmp_path}/t")
        numbers = [log.commit(folder, logged(name), overwrite=False) for name in "abcd"]
        log.fold(folder, numbers[2], numbers[3], logged("cd"))
        assert log.added(folder, numbers[1], numbers[2]) is None
        assert names_of(log.added(folder, numbers[0], numbers[1])) == ["b"]


def test_one_transaction_is_one_commit(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path)) as catalog:
        log = catalog.log
        first, second = begun(log, f"{tmp_path}/a"), begun(log, f"{tmp_path}/b")
        with catalog.transaction():
            number = log.commit(first, logged("x"), overwrite=False)
            assert log.commit(second, logged("y"), overwrite=False) == number
            assert log.commit(first, logged("z"), overwrite=True) == number
        assert names_of(log.files(first)) == ["z"]
        assert log.removed(first) == set()
        assert log.commit(first, logged("w"), overwrite=False) == number + 1


def test_folders_move_and_go(tmp_path: Path) -> None:
    with closing(Catalog(tmp_path)) as catalog:
        log = catalog.log
        for name in ("t", "t/p=1", "t0", "t-1"):
            log.commit(begun(log, f"{tmp_path}/{name}"), logged(name), overwrite=False)
        log.move(f"{tmp_path}/t", f"{tmp_path}/u")
        assert [log.find(f"{tmp_path}/{name}") is None for name in ("t", "t/p=1", "u", "u/p=1", "t0")] == [
            True,
            True,
            False,
            False,
            False,
        ]
        moved = log.find(f"{tmp_path}/u/p=1")
        assert moved is not None
        assert names_of(log.files(moved)) == ["t/p=1"]
        log.forget_below(f"{tmp_path}/u")
        assert log.find(f"{tmp_path}/u/p=1") is None
        assert log.files(moved) == []
        assert log.find(f"{tmp_path}/t-1") is not None


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_copied_catalog_has_the_same_files(tmp_path: Path, is_durable: bool) -> None:
    with closing(Catalog(tmp_path / "a")) as catalog:
        with catalog.transaction(is_durable=is_durable):
            catalog.log.commit(begun(catalog.log, f"{tmp_path}/a/t"), logged("x"), overwrite=False)
        catalog.copy_file(str(tmp_path / "copy"))
    (tmp_path / "b/.sharkpy").mkdir(parents=True)
    (tmp_path / "copy").rename(tmp_path / "b/.sharkpy/catalog.sqlite")
    with closing(Catalog(tmp_path / "b")) as catalog:
        found = catalog.log.find(f"{tmp_path}/b/t")
        assert found is not None
        assert names_of(catalog.log.files(found)) == ["x"]
