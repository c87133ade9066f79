"""Files of other programs that are damaged or encrypted: an error, and never the end of the process."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

import sharkpy
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.layout import list_data_files
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.orc_tail import read_tail
from tests.examples import examples

ROWS = pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"], "r": [{"p": 1, "q": [1]}] * 3})


@pytest.mark.parametrize(
    ("kind", "files"), [("parquet", 2000), ("orc", 2000), ("rcfile", 5000), ("sequencefile", 5000)]
)
def test_changed_bytes_end_no_process(kind: str, files: int) -> None:
    command = [sys.executable, "-m", "tests.sources.damaged_files", kind, str(examples(files))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.split("\n")
    assert done.returncode == 0, (lines[-2:], done.stderr[-500:])
    assert [line for line in lines if ":" in line] == []


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_nested_names_that_are_not_utf_8(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    path, table = tmp_path / f"f.{name}", pa.table({"r": [{"cafX": 1}]})
    if name == "orc":
        pa.orc.write_table(table, str(path), compression="uncompressed")
    else:
        pq.write_table(table, path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"cafX", b"caf\xe9"))
    with pytest.raises(SourceError, match="is not a readable"):
        context.sql(f"SELECT * FROM '{path}'")


def test_decimals_of_orc_with_too_many_digits(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    pa.orc.write_table(pa.table({"n": [Decimal("1.5")]}), str(path), compression="uncompressed")
    with open(path, "rb") as file:
        tail = read_tail(file)
    # Its precision and its scale: fields 5 and 6 of a type.
    old, new = b"\x28\x02\x30\x01", b"\x28\x4d\x30\x01"
    wide = ((number, data.replace(old, new) if isinstance(data, bytes) else data) for number, data in tail.footer)
    changed = tail.with_footer(tuple(wide))
    assert changed.most_digits == 77
    path.write_bytes(path.read_bytes()[: tail.footer_start] + changed.encoded())
    with pytest.raises(SourceError, match="a decimal of 77 digits"):
        OrcReader(list_data_files(str(path))[0])


class _Keys(pe.KmsClient):  # type: ignore[misc]
    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return key_bytes

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return wrapped_key


def write_encrypted(path: Path, *, plaintext_footer: bool, columns: list[str]) -> None:
    factory, connection = pe.CryptoFactory(lambda _: _Keys()), pe.KmsConnectionConfig()
    configuration = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": columns}, plaintext_footer=plaintext_footer, double_wrapping=False
    )
    properties = factory.file_encryption_properties(connection, configuration)
    with pq.ParquetWriter(path, ROWS.schema, encryption_properties=properties) as writer:
        writer.write_table(ROWS)


def test_the_other_columns_of_an_encrypted_one(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_encrypted(tmp_path / "f.parquet", plaintext_footer=True, columns=["b", "r.p"])
    place = f"'{tmp_path}/f.parquet'"
    assert context.sql(f"SELECT a FROM {place} WHERE a > 1").fetchall() == [(2,), (3,)]
    assert context.sql(f"SELECT count(*) FROM {place}").fetchall() == [(3,)]
    with pytest.raises(UnsupportedError, match=r'column "b" of ".*f.parquet", which is encrypted'):
        context.sql(f"SELECT a, b FROM {place}").fetchall()
    with pytest.raises(UnsupportedError, match='column "r"'):
        context.sql(f"SELECT r.q FROM {place}").fetchall()


def test_a_file_that_is_encrypted_as_a_whole(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_encrypted(tmp_path / "f.parquet", plaintext_footer=False, columns=["b"])
    with pytest.raises(UnsupportedError, match=r"f.parquet.*, which is encrypted"):
        context.sql(f"SELECT a FROM '{tmp_path}/f.parquet'")


def test_a_table_with_an_encrypted_column(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    write_encrypted(tmp_path / "f.parquet", plaintext_footer=True, columns=["b"])
    context.sql(f"CREATE EXTERNAL TABLE hidden (a BIGINT, b STRING) STORED AS PARQUET LOCATION '{tmp_path}'")
    assert context.sql("SELECT sum(a) FROM hidden").fetchall() == [(6,)]
    with pytest.raises(UnsupportedError, match='column "b"'):
        context.sql("SELECT max(b) FROM hidden").fetchall()
