"""Files of every format in a store: split for split they are read as local ones, and holes are looked into nowhere."""

from __future__ import annotations

import bz2
import gzip
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import StorageFormat
from sharkpy.catalog.system_tables import BLOCK_OFFSET
from sharkpy.sources import open_files, remote_files
from sharkpy.sources.csv_files.detection import detect_csv
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import CODECS
from sharkpy.sources.layout import DataFile, list_data_files
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.sources.split_rows import read_split, read_split_coded
from sharkpy.sources.storage import fetched_files
from sharkpy.sources.storage.fetched_files import FetchedFiles
from sharkpy.sources.storage.local_store import LOCAL
from sharkpy.sources.storage.store import ObjectFacts, Store
from sharkpy.sources.undeclared_columns import columns_of_files
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema
from tests.sources.test_round_trip import FORMATS
from tests.storage.places import memory_store
from tests.storage.test_range_reader import CountingStore

SCHEMA = Schema(
    tuple(Field(n, parse_type(t)) for n, t in [("n", "int"), ("s", "string"), ("d", "double"), ("a", "array<int>")])
)
FLAT = SCHEMA.select(["n", "s", "d"])
ROWS = 5000
HEADED = (("skip.header.line.count", "1"), ("skip.footer.line.count", "2"))


def store_at(remote: Store, location: str, _: str) -> Store:
    return remote if uri.is_remote(location) else LOCAL


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that all remote locations are in, with small pieces and holes that show."""
    store = memory_store()
    monkeypatch.setattr(open_files, "store_for_access", partial(store_at, store))
    monkeypatch.setattr(remote_files, "store_for_access", partial(store_at, store))
    monkeypatch.setattr(open_files, "FETCHED", FetchedFiles(hole=b"\xff"))
    monkeypatch.setattr(fetched_files, "_PIECE_BYTES", 8192)
    monkeypatch.setattr(fetched_files, "_FIRST_BYTES", 4096)
    return store


def batches(schema: Schema) -> list[pa.RecordBatch]:
    chosen = random.Random(1)
    columns: dict[str, list[Any]] = {
        "n": list(range(ROWS)),
        "s": [None if n % 7 == 0 else f"{chosen.random()}é" * (n % 5) for n in range(ROWS)],
        "d": [n / 3 for n in range(ROWS)],
        "a": [[n, None, n + 1] for n in range(ROWS)],
    }
    columns["s"] = [None if text == "" else text for text in columns["s"]]
    whole = pa.RecordBatch.from_pydict({name: columns[name] for name in schema.names}, arrow_schema(schema))
    return [whole.slice(start, 700) for start in range(0, ROWS, 700)]


def uploaded(store: Store, path: Path) -> DataFile:
    facts = store.put(f"s3://memory/{path.name}", path.read_bytes())
    return DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag, access="mine")


def read(splits: Sequence[Split], schema: Schema, names: Sequence[str]) -> list[dict[str, Any]]:
    return [row for split in splits for batch in read_split(split, schema, names) for row in batch.to_pylist()]


def check(store: Store, path: Path, schema: Schema, storage: tuple[str, Any], split_bytes: int) -> None:
    """Splits, rows, single columns, numbers of rows and places equal the local file's."""
    (local,), far = list_data_files(str(path)), uploaded(store, path)
    reader = source(storage[0])
    here = reader.splits([local], schema, storage[1], split_bytes)
    there = reader.splits([far, far], schema, storage[1], split_bytes)
    assert there[: len(here)] == there[len(here) :]
    there = there[: len(here)]
    assert [(one.start, one.length, one.num_rows) for one in there] == [(o.start, o.length, o.num_rows) for o in here]
    assert {(one.tag, one.access) for one in there} == {(far.tag, "mine")}
    for names in (schema.names, schema.names[1:2], schema.names[:1]):
        for one, other in zip(here, there, strict=True):
            assert read([other], schema, names) == read([one], schema, names)
    counts = [
        sum(batch.num_rows for split in splits for batch in read_split(split, schema, ())) for splits in (here, there)
    ]
    assert counts[0] == counts[1] > 0
    coded = [
        [
            row
            for split in splits
            for table in read_split_coded(split, schema, ReadMetrics())
            for row in table.to_pylist()
        ]
        for splits in (here, there)
    ]
    assert coded[0] == coded[1]


@pytest.mark.variants(3)
@pytest.mark.parametrize("split_bytes", [1 << 30, 30_000])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format(store: Store, tmp_path: Path, form: str, split_bytes: int) -> None:
    path, storage = tmp_path / "part-0", FORMATS[form]
    source(storage[0]).write(batches(SCHEMA), SCHEMA, storage[1], str(path))
    check(store, path, SCHEMA, storage, split_bytes)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_compressed_lines(store: Store, tmp_path: Path, codec: Any) -> None:
    plain, path = tmp_path / "plain", tmp_path / f"part-0{codec.suffix}"
    source("text").write(batches(FLAT), FLAT, (), str(plain))
    path.write_bytes(codec.compress(plain.read_bytes()))
    check(store, path, FLAT, ("text", HEADED), 30_000)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("name", "packed"), [("x.csv", bytes), ("x.csv.gz", gzip.compress), ("x.csv.bz2", bz2.compress)]
)
def test_csv(store: Store, tmp_path: Path, name: str, packed: Any) -> None:
    path = tmp_path / name
    content = b"n;s;d\n" + b"".join(b'%d;"a;%d";%d.5\n' % (n, n, n) for n in range(ROWS))
    path.write_bytes(packed(content))
    (local,) = list_data_files(str(path))
    found = detect_csv([local])
    assert detect_csv([uploaded(store, path)]) == found
    properties = found[0]
    for given in (properties, (*properties, ("multiLine", "false")), (("sep", ";"), ("header", "true"))):
        schema = columns_of_files([uploaded(store, path)], StorageFormat(CSV, given))
        assert schema == columns_of_files(list_data_files(str(path)), StorageFormat(CSV, given))
        check(store, path, schema, (CSV, given), 30_000)


def test_lines_without_header_and_footer(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "part-0"
    source("text").write(batches(FLAT), FLAT, (), str(path))
    check(store, path, FLAT, ("text", HEADED), 30_000)


def test_a_line_longer_than_what_is_asked_for(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "part-0"
    path.write_bytes(b"1\x01" + b"x" * 300_000 + b"\x011.5\n2\x01y\x012.5\n")
    check(store, path, FLAT, ("text", ()), 50_000)


@pytest.mark.parametrize("form", ["text", "sequence-blocks", "rcfile-binary"])
def test_places_of_rows(store: Store, tmp_path: Path, form: str) -> None:
    path, (name, properties) = tmp_path / "part-0", FORMATS[form]
    source(name).write(batches(FLAT), FLAT, properties, str(path))
    schema = Schema(
        (*FLAT.fields, Field("input__file__name", parse_type("string")), Field(BLOCK_OFFSET, parse_type("bigint")))
    )
    files = (list_data_files(str(path))[0], uploaded(store, path))
    names = ["n", *schema.names[-2:]]
    found = [read(source(name).splits([file], FLAT, properties, 30_000), schema, names) for file in files]
    assert {row["input__file__name"] for row in found[0]} == {f"file:{path}"}
    assert {row["input__file__name"] for row in found[1]} == {"s3://memory/part-0"}
    assert [row[BLOCK_OFFSET] for row in found[0]] == [row[BLOCK_OFFSET] for row in found[1]]


@pytest.mark.parametrize("form", ["parquet", "orc", "avro", "json"])
def test_columns_of_files(store: Store, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x.{form}"
    source(form).write(batches(SCHEMA), SCHEMA, (), str(path))
    storage = StorageFormat(form)
    assert columns_of_files([uploaded(store, path)], storage) == columns_of_files(list_data_files(str(path)), storage)


class Counting(CountingStore):
    """All of a store, whose reads are counted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@pytest.fixture
def counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting(store)
    monkeypatch.setattr(open_files, "store_for_access", partial(store_at, counting))
    return counting


def wide(rows: int = 200_000) -> pa.Table:
    chosen = random.Random(2)
    values = [chosen.random() for _ in range(rows)]
    return pa.table({"a": values, "b": values[::-1], "c": [f"{value}" for value in values], "d": list(range(rows))})


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_columns_that_are_not_wanted_are_not_fetched(counted: Counting, tmp_path: Path, form: str) -> None:
    path, table = tmp_path / "x", wide()
    if form == "parquet":
        pq.write_table(table, path, row_group_size=50_000, compression="none", use_dictionary=False)
    else:
        pyarrow.orc.write_table(table, path, stripe_size=1 << 20, compression="uncompressed")
    schema = Schema(
        tuple(Field(n, parse_type(t)) for n, t in zip("abcd", ["double", "double", "string", "bigint"], strict=True))
    )
    splits = source(form).splits([uploaded(counted.store, path)], schema, (), 1)
    counted.given.clear()
    found = [
        value for split in splits for batch in read_split(split, schema, ["b"]) for value in batch.column(0).to_pylist()
    ]
    assert found == table["b"].to_pylist()
    fetched = sum(end - start for start, end in counted.given)
    assert 7 * table.num_rows <= fetched <= 8 * table.num_rows * 1.1 + (64 << 10)


def test_all_columns_take_the_bytes_of_the_file(counted: Counting, tmp_path: Path) -> None:
    path = tmp_path / "x"
    pq.write_table(wide(), path, row_group_size=50_000)
    schema = Schema((Field("a", parse_type("double")), Field("c", parse_type("string"))))
    splits = source("parquet").splits([uploaded(counted.store, path)], schema, (), 1 << 30)
    for _ in range(2):
        assert sum(batch.num_rows for split in splits for batch in read_split(split, schema, ["a", "c"])) == 200_000
    # Bytes that were read once are cached.
    assert sum(end - start for start, end in counted.given) <= 1.1 * path.stat().st_size


def test_an_early_end_drops_what_comes(counted: Counting, tmp_path: Path) -> None:
    path = tmp_path / "x"
    pq.write_table(wide(), path, row_group_size=10_000, compression="none", use_dictionary=False)
    schema = Schema((Field("a", parse_type("double")),))
    (split,) = source("parquet").splits([uploaded(counted.store, path)], schema, (), 1 << 30)
    rows = read_split(split, schema, ["a"])
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert sum(end - start for start, end in counted.given) <= 3 * 80_000 + (64 << 10) * 2


@pytest.mark.parametrize("form", ["parquet", "orc", "avro", "sequence-text", "rcfile-binary", "text"])
def test_a_file_that_was_changed(store: Store, tmp_path: Path, form: str) -> None:
    path, (name, properties) = tmp_path / "x", FORMATS[form]
    source(name).write(batches(FLAT), FLAT, properties, str(path))
    (split, *_) = source(name).splits([uploaded(store, path)], FLAT, properties, 1 << 30)
    open_files.FETCHED = FetchedFiles(hole=b"\xff")
    store.put("s3://memory/x", path.read_bytes()[::-1])
    with pytest.raises(SourceError, match=r'"s3://memory/x" was changed'):
        read([split], FLAT, ["n"])


@pytest.mark.parametrize("form", ["parquet", "orc", "avro", "sequence-text", "rcfile-binary"])
def test_a_file_that_is_none_is_named(store: Store, form: str) -> None:
    facts = store.put("s3://memory/bad", b"this is no such file" * 20)
    file = DataFile(facts.path, facts.size_bytes, facts.modified_ns, tag=facts.tag)
    with pytest.raises(SourceError, match="s3://memory/bad"):
        read(source(FORMATS[form][0]).splits([file], FLAT, (), 1 << 30), FLAT, ["n"])


def test_without_tags_a_file_is_known_by_size_and_time(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1\n")
    file = uploaded(store, path)
    split = Split.of(DataFile(file.path, file.size_bytes, file.modified_ns + 1), "text", (), 0, 2)
    with pytest.raises(SourceError, match="was changed"):
        open_files.check_unchanged(split)
    assert isinstance(open_files.object_of_file(split), ObjectFacts)


def names_of(files: Sequence[DataFile]) -> list[str]:
    return [file.path.removeprefix("s3://memory/") for file in files]


TREE = (
    "t/a",
    "t/b/c",
    "t/_SUCCESS",
    "t/.x/y",
    "t/base_0000002/f",
    "t/delta_0000001/f",
    "t/delta_0000003/f",
    "u",
    "v/_x",
)


@pytest.fixture
def tree(store: Store) -> None:
    for name in TREE:
        store.put(f"s3://memory/{name}", b"1")


@pytest.mark.usefixtures("tree")
def test_files_of_a_folder() -> None:
    """Names hide other files as they do in local folders."""
    listed = remote_files.remote_files
    assert names_of(listed("s3://memory/t", "")) == ["t/base_0000002/f", "t/delta_0000003/f"]
    assert names_of(listed("s3://memory/t", "", 1)) == ["t/a", "t/b/c", "t/delta_0000001/f"]
    assert names_of(listed("s3://memory/u", "")) == ["u"]
    assert listed("s3://memory/v", "") == []
    with pytest.raises(SourceError) as caught:
        listed("s3://memory/w", "")
    assert caught.value.sqlstate == "58P01"
    assert remote_files.has_files("s3://memory/t", "")
    assert remote_files.has_files("s3://memory/u", "")
    assert not remote_files.has_files("s3://memory/w", "")


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["t/base_0000002/f", "t/delta_0000003/f", "u"]),
        ("t/[ab]", ["t/a", "t/b/c"]),
        ("t/?", ["t/a", "t/b/c"]),
        ("t/delta_*/f", ["t/delta_0000001/f", "t/delta_0000003/f"]),
        ("**/f", ["t/base_0000002/f", "t/delta_0000001/f", "t/delta_0000003/f"]),
        ("t/**/c", ["t/b/c"]),
        ("t/b/**", ["t/b/c"]),
        ("**/t/**/f", ["t/base_0000002/f", "t/delta_0000001/f", "t/delta_0000003/f"]),
        ("**/**/b/**/**/c", ["t/b/c"]),
    ],
)
def test_patterns(pattern: str, found: list[str]) -> None:
    _, files = remote_files.matching_files(f"s3://memory/{pattern}", "")
    assert names_of(files) == found


@pytest.mark.usefixtures("tree")
def test_patterns_that_match_nothing() -> None:
    with pytest.raises(SourceError, match="no file matches"):
        remote_files.matching_files("s3://memory/t/x*", "")
