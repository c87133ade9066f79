"""Identity of files: what tells that one is another, and what does not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.execution.tables.file_contents import FileContents, content_digest
from sharkpy.execution.tasks.block_rebuild import file_of_origin, origin_of, split_of
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Split
from sharkpy.values.types import INT, Field, Schema

FILE = DataFile("s3://b/t/x", 10, 20, "p=1", tag='"a"', access="one")
LOCAL = DataFile("/t/x", 10, 20)


@pytest.mark.parametrize("changed", [{"tag": '"b"'}, {"size_bytes": 11}, {"modified_ns": 21}, {"tag": ""}])
def test_another_content_is_another_file(changed: dict[str, object]) -> None:
    other = replace(FILE, **changed)  # type: ignore[arg-type]
    assert other != FILE
    assert FileContents().of([other]) != FileContents().of([FILE])
    assert content_digest([other]) != content_digest([FILE])


def test_an_access_makes_no_other_file() -> None:
    other = replace(FILE, access="two")
    assert other == FILE
    assert hash(other) == hash(FILE)
    assert FileContents().of([other]) == FileContents().of([FILE])
    assert content_digest([other]) == content_digest([FILE])


def test_splits_under_another_access_are_other_splits() -> None:
    """Plans and rows that are kept for one are not given to another."""
    split = Split.of(FILE, "text", (), 0, 10)
    assert (split.tag, split.access) == ('"a"', "one")
    assert split != Split.of(replace(FILE, access="two"), "text", (), 0, 10)


def test_blocks_remember_the_content_and_no_access() -> None:
    split = Split.of(FILE, "text", (), 0, 10)
    origin = origin_of(split)
    assert (origin.tag, file_of_origin(origin)) == ('"a"', FILE)
    assert "one" not in repr(origin)
    schema = Schema((Field("a", INT),))
    table = Table("id", "default", "t", TableKind.EXTERNAL, schema, StorageFormat("orc"), "s3://b/t")
    again = split_of(origin, table, lambda _: "two")
    assert (again.path, again.tag, again.access) == (split.path, '"a"', "two")
    assert split_of(origin_of(Split.of(LOCAL, "orc", (), 0, 10)), table).access == ""


def test_figures_of_local_files_stay_valid() -> None:
    """Contents of files without a tag are what they were before there were tags."""
    text = b"x\x0010\x0020\n"
    assert content_digest([LOCAL]) == hashlib.blake2b(text, digest_size=16).hexdigest()


def test_footers_are_kept_under_each_access(tmp_path: Path) -> None:
    """Another access may be one to another server, with another file of that name."""
    path = tmp_path / "f.parquet"

    def rows(count: int, **facts: object) -> int | None:
        pq.write_table(pa.table({"a": range(count)}), path)
        file = replace(DataFile(str(path), 10, 1, tag='"t"'), **facts)  # type: ignore[arg-type]
        (split,) = source("parquet").splits([file], Schema((Field("a", INT),)), (), 1 << 30)
        assert split.access == file.access
        return split.num_rows

    assert rows(1, access="one") == 1
    assert rows(2, access="one") == 1
    assert rows(3, access="two") == 3
    for count in (4, 5):
        assert rows(count, access="one", modified_ns=0, tag="") == count


@pytest.mark.parametrize("root", ["s3://b/t", "s3://b"])
def test_contents_do_not_depend_on_the_folder(root: str) -> None:
    def files(folder: str) -> list[DataFile]:
        return [DataFile(f"{folder}/{name}", 1, 2, tag="t") for name in ("a", "b/c")]

    assert content_digest(files(f"{root}/one")) == content_digest(files(f"{root}/two"))
    assert content_digest(files(root)) != content_digest(files(root)[:1])
