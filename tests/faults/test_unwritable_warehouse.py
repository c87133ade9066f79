"""Warehouse that takes no write: it is read all the same, and statements that free space work if there is none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.faults.disk import ballast, read_only, small_disk

SIZE = 24 << 20
ROWS = [(1, "one"), (2, "two")]
MAKE = """
CREATE TABLE text_rows (id int, name string);
INSERT INTO text_rows VALUES (1, 'one'), (2, 'two');
CREATE TABLE rows AS SELECT * FROM text_rows;
CREATE TABLE kept TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT * FROM text_rows;
CREATE TABLE parts (id int) PARTITIONED BY (day string);
INSERT INTO parts PARTITION (day = 'a') VALUES (1);
INSERT INTO parts PARTITION (day = 'b') VALUES (2)
"""
KILLED = """
import os, signal, sys, sharkpy
context = sharkpy.connect(warehouse=sys.argv[1])
context.sql(sys.argv[2])
context.sql("SELECT * FROM rows").fetchall()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", SIZE) as disk:
        yield disk


def connect(folder: Path) -> sharkpy.SharkContext:
    return sharkpy.connect(warehouse=folder / "warehouse", **{"shark.history.saved": "true"})


def make(folder: Path) -> None:
    with connect(folder) as context:
        context.sql(MAKE)


def check_read(context: sharkpy.SharkContext) -> None:
    for table in ("text_rows", "rows", "kept"):
        assert context.sql(f"SELECT id, name FROM {table} ORDER BY id").fetchall() == ROWS
    assert context.sql("SELECT id FROM parts WHERE day = 'b'").fetchall() == [(2,)]
    assert [row[0] for row in context.sql("SHOW TABLES").fetchall()] == ["kept", "parts", "rows", "text_rows"]
    assert context.sql("SHOW QUERIES").fetchall()


def check_refused(context: sharkpy.SharkContext) -> None:
    for text in ("DROP TABLE rows", "CREATE VIEW v AS SELECT 1", "INSERT INTO rows VALUES (3, 'three')"):
        with pytest.raises(SharkError) as caught:
            context.sql(text).fetchall()
        assert caught.value.sqlstate in ("25006", "58030"), f"{text}: {caught.value}"
        assert "ead-only" in caught.value.message


def test_a_read_only_disk_is_read(disk: Path) -> None:
    make(disk)
    with read_only(disk), connect(disk) as context:
        check_read(context)
        context.sql("CACHE TABLE text_rows")
        context.sql("CREATE TEMPORARY VIEW few AS SELECT id FROM rows WHERE id < 2")
        assert context.sql("SELECT * FROM few").fetchall() == [(1,)]
        context.sql("DROP VIEW few")
        check_read(context)
        check_refused(context)
    with connect(disk) as context:
        context.sql("INSERT INTO rows VALUES (3, 'three')")
        assert context.sql("SELECT count(*) FROM rows").fetchall() == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("left", ["journal and index", "journal"])
def test_what_a_killed_writer_has_left_is_read(disk: Path, left: str) -> None:
    """The journal has tables that the catalog's file does not have yet."""
    warehouse = disk / "warehouse"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(warehouse), MAKE], check=False)
    assert killed.returncode == -signal.SIGKILL
    state = warehouse / ".sharkpy"
    assert (state / "catalog.sqlite-wal").stat().st_size
    if left == "journal":
        (state / "catalog.sqlite-shm").unlink()
    before = sorted(path.name for path in state.iterdir())
    with read_only(disk), connect(disk) as context:
        check_read(context)
        check_refused(context)
    assert sorted(path.name for path in state.iterdir()) == before


READER = """
import sys, sharkpy, sharkpy.errors
with sharkpy.connect(warehouse=sys.argv[1]) as context:
    for line in sys.stdin:
        try:
            print(context.sql(line).fetchall(), flush=True)
        except sharkpy.errors.SharkError as error:
            print(error.sqlstate, flush=True)
"""


def without_rights() -> list[str]:
    """Command that takes from a child the right of root to write what modes forbid."""
    if os.geteuid():
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root writes everywhere, and setpriv is not there to change that")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def take_rights(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_folder_without_the_right_to_write_is_read(tmp_path: Path) -> None:
    """The folder is also read while another session writes it: the next statement sees its changes."""
    make(tmp_path)
    take_rights(tmp_path)
    command = [*without_rights(), sys.executable, "-c", READER, str(tmp_path / "warehouse")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as reader:
        to_reader, from_reader = reader.stdin, reader.stdout
        assert to_reader is not None
        assert from_reader is not None

        def ask(text: str) -> str:
            to_reader.write(f"{text}\n")
            to_reader.flush()
            return from_reader.readline().strip()

        assert ask("SELECT max(id) FROM rows") == "[(2,)]"
        if os.geteuid() == 0:
            with connect(tmp_path) as writer:
                writer.sql("CREATE TABLE later AS SELECT 7 AS seven")
                take_rights(tmp_path)
                assert ask("SELECT seven FROM later") == "[(7,)]"
            assert ask("SELECT seven FROM later") == "[(7,)]"
        assert ask("DROP TABLE rows") == "25006"
        to_reader.close()


@pytest.mark.variants(3)
@pytest.mark.parametrize("opened", ["before", "after"])
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DROP TABLE rows", ["kept", "parts", "text_rows"]),
        ("TRUNCATE TABLE rows", ["kept", "parts", "rows", "text_rows"]),
        ("ALTER TABLE parts DROP PARTITION (day = 'a')", ["kept", "parts", "rows", "text_rows"]),
        ("DROP DATABASE shop CASCADE", ["kept", "parts", "rows", "text_rows"]),
    ],
)
def test_a_full_disk_is_read_and_freed(disk: Path, opened: str, text: str, left: list[str]) -> None:
    make(disk)
    with connect(disk) as context:
        context.sql("CREATE DATABASE shop; CREATE TABLE shop.sold AS SELECT 1 AS id")
    reserve = disk / "warehouse" / ".sharkpy" / "catalog.reserve"
    assert reserve.stat().st_size == 1 << 20
    early = connect(disk) if opened == "before" else None
    with ballast(disk, 0), early or connect(disk) as context:
        check_read(context)
        # Over what the reserve may have left, however it is packed.
        numbers = "(SELECT explode(sequence(1, 1000000)) AS id) s"
        with pytest.raises(SharkError) as caught:
            context.sql(f"CREATE TABLE made AS SELECT uuid() AS text FROM {numbers}").fetchall()
        assert caught.value.sqlstate == "53100", caught.value
        context.sql(text)
        assert [row[0] for row in context.sql("SHOW TABLES").fetchall()] == left
    with connect(disk) as context:
        context.sql("SHOW TABLES").fetchall()
    assert reserve.stat().st_size == 1 << 20
