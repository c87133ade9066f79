"""Warehouses in buckets: the places of their catalogs, and their owners."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy import dbapi
from sharkpy.base.errors import ConfigurationError, CorruptionError, NotAllowedError, SharkError, UnsupportedError
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.cli.main import main
from sharkpy.sources.storage.warehouse_claims import Claim, WarehouseClaims
from sharkpy.thrift.config import ServerConfig
from sharkpy.thrift.sessions import _restrictions
from tests.children import status_of
from tests.storage.places import BUCKET, memory_store
from tests.storage.s3_servers import S3Server
from tests.storage.warehouses import keys, open_warehouse

Open = Callable[..., sharkpy.SharkContext]


@pytest.fixture(autouse=True)
def states(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's folder of states."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    return tmp_path / "states"


@pytest.fixture
def opened(folder: str, moto: S3Server) -> Open:
    def open_one(home: Path, warehouse: str = folder, **conf: str) -> sharkpy.SharkContext:
        return open_warehouse(warehouse, moto.address, home, **conf)

    return open_one


def claims(s3: Any, warehouse: str) -> dict[str, dict[str, Any]]:
    """Claims on a warehouse by the names of their objects."""
    prefix = f"{warehouse.partition(f'{BUCKET}/')[2]}/.sharkpy/"
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    bodies = {one["Key"]: s3.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read() for one in listed}
    return {key.removeprefix(prefix): json.loads(body) for key, body in bodies.items()}


def wanted_by(error: SharkError) -> str:
    """Value of the setting that the hint of an error names."""
    found = re.search(r"shark\.warehouse\.take\.over=(\w+)$", error.hint or "")
    assert found is not None, error.hint
    return found[1]


def refused(opened: Open, *arguments: Any, **conf: str) -> SharkError:
    with pytest.raises(ConfigurationError) as caught:
        opened(*arguments, **conf)
    assert caught.value.sqlstate == "55006"
    return caught.value


def test_a_warehouse_belongs_to_the_catalog_that_opened_it_first(
    folder: str, opened: Open, tmp_path: Path, s3: Any
) -> None:
    home, other = tmp_path / "a", tmp_path / "b"
    with opened(home) as session:
        assert session.sql("DESCRIBE DATABASE default").fetchall()[0][2] == folder
        session.sql("CREATE DATABASE shop").close()
        assert session.catalog.database("shop").location == f"{folder}/shop.db"
        # Another process of the same catalog.
        opened(home).stop()
    (claim,) = claims(s3, folder).values()
    assert claim["place"].endswith(f":{home}/{CATALOG_FILE}")
    error = refused(opened, other)
    assert error.message.startswith(f'the warehouse "{folder}" belongs to the catalog at {claim["place"]}')
    assert wanted_by(error) == claim["owner"]
    # The same place in other words is the same warehouse.
    refused(opened, other, f"{folder.replace('s3:', 'S3a:')}//")
    with opened(home, f"{folder.replace('s3:', 's3a:')}/") as session:
        assert session.catalog.database("shop").location == f"{folder}/shop.db"
        assert session.catalog.warehouse_dir == folder
    assert len(claims(s3, folder)) == 1


def test_a_warehouse_is_taken_over_from_the_owner_that_is_named(
    folder: str, opened: Open, tmp_path: Path, s3: Any
) -> None:
    first, second, third = (tmp_path / name for name in "abc")
    opened(first).stop()
    (owner,) = (claim["owner"] for claim in claims(s3, folder).values())
    refused(opened, second, **{"shark.warehouse.take.over": "somebody"})
    opened(second, **{"shark.warehouse.take.over": owner}).stop()
    # The setting that stays takes over nothing more, from whomever.
    opened(second, **{"shark.warehouse.take.over": owner}).stop()
    refused(opened, third, **{"shark.warehouse.take.over": owner})
    assert sorted(claims(s3, folder)) == ["owner-1.json", "owner-2.json"]
    error = refused(opened, first)
    assert f":{second}/" in error.message
    opened(first, **{"shark.warehouse.take.over": wanted_by(error)}).stop()
    assert claims(s3, folder)["owner-3.json"]["owner"] == owner
    refused(opened, second)


def test_a_copy_of_a_catalog_is_another_owner(opened: Open, tmp_path: Path) -> None:
    opened(tmp_path / "a").stop()
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    refused(opened, tmp_path / "copy")
    opened(tmp_path / "a").stop()
    # One that was moved, or is in the place of its original, is the same.
    (tmp_path / "a").rename(tmp_path / "moved")
    opened(tmp_path / "moved").stop()
    shutil.copytree(tmp_path / "moved", tmp_path / "saved")
    shutil.rmtree(tmp_path / "moved")
    shutil.copytree(tmp_path / "saved", tmp_path / "moved")
    opened(tmp_path / "moved").stop()
    refused(opened, tmp_path / "copy")


def test_a_catalog_is_that_of_one_warehouse(folder: str, opened: Open, tmp_path: Path) -> None:
    with opened(tmp_path / "a") as session:
        session.sql("CREATE DATABASE shop").close()
    for other in (f"{folder}-other", f"{folder}/below"):
        with pytest.raises(ConfigurationError, match=r"belongs to the warehouse .* set another folder"):
            opened(tmp_path / "a", other)
    with pytest.raises(ConfigurationError, match=f'belongs to the warehouse "{folder}"'):
        sharkpy.connect("local[2]", tmp_path / "a")
    sharkpy.connect("local[2]", tmp_path / "local").stop()
    with pytest.raises(ConfigurationError, match=f'belongs to the warehouse "{tmp_path}/local"'):
        opened(tmp_path / "local")
    with pytest.raises(ConfigurationError, match="is always inside it"):
        sharkpy.connect("local[2]", tmp_path / "local", **{"shark.catalog.dir": str(tmp_path / "a")})
    opened(tmp_path / "a").stop()


def test_a_warehouse_in_another_one_is_refused(folder: str, opened: Open, tmp_path: Path) -> None:
    opened(tmp_path / "a").stop()
    error = refused(opened, tmp_path / "b", f"{folder}/x/y")
    assert error.message == f'"{folder}/x/y" is inside another warehouse, "{folder}"'
    opened(tmp_path / "b", f"{folder}x").stop()


def test_a_warehouse_that_does_not_know_its_catalog_any_more(
    folder: str, opened: Open, tmp_path: Path, s3: Any
) -> None:
    """The same happens at another endpoint that has a bucket of this name."""
    opened(tmp_path / "a").stop()
    for name in claims(s3, folder):
        s3.delete_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}/.sharkpy/{name}")
    error = refused(opened, tmp_path / "a")
    assert "no longer has the mark of this catalog" in error.message
    assert claims(s3, folder) == {}
    opened(tmp_path / "a", **{"shark.warehouse.take.over": wanted_by(error)}).stop()
    opened(tmp_path / "a").stop()
    refused(opened, tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"version": 2}', b"[" * 9000, b" " * 20000])
def test_a_claim_that_cannot_be_read(folder: str, opened: Open, tmp_path: Path, s3: Any, content: bytes) -> None:
    key = f"{folder.partition(f'{BUCKET}/')[2]}/.sharkpy"
    s3.put_object(Bucket=BUCKET, Key=f"{key}/owner-7.json", Body=content)
    with pytest.raises(CorruptionError, match=r"owner-7.json\" cannot be read"):
        opened(tmp_path / "a")
    s3.delete_object(Bucket=BUCKET, Key=f"{key}/owner-7.json")
    s3.put_object(Bucket=BUCKET, Key=f"{key}/owner-x.json", Body=content)
    opened(tmp_path / "a").stop()


def test_the_catalog_has_a_folder_of_its_warehouse(folder: str, moto: S3Server, states: Path) -> None:
    for warehouse in (folder, f"{folder}-2"):
        sharkpy.connect("local[2]", warehouse, **keys(moto.address)).stop()
    homes = list((states / "sharkpy" / "warehouses").iterdir())
    assert len(homes) == 2
    assert all(Path(home, CATALOG_FILE).is_file() for home in homes)
    assert any(home.name.startswith(f"{folder.rpartition('/')[2]}-") for home in homes)
    with closing(dbapi.connect(folder, **keys(moto.address))) as one, closing(one.cursor()) as cursor:
        cursor.execute("SHOW DATABASES")
        assert cursor.fetchall() == [("default",)]


def test_places_that_hold_no_warehouse(tmp_path: Path, folder: str, moto: S3Server) -> None:
    home = {"shark.catalog.dir": str(tmp_path / "a")}
    with pytest.raises(UnsupportedError, match="cannot create a file only if it does not exist"):
        sharkpy.connect("local[2]", f"http://{moto.address}/wh", **home)
    with pytest.raises(UnsupportedError, match='storage of the scheme "ftp"'):
        sharkpy.connect("local[2]", "ftp://host/wh", **home)
    with pytest.raises(UnsupportedError, match="a user, a key or a signature"):
        sharkpy.connect("local[2]", "s3://user:word@bucket/wh", **home)
    with pytest.raises(SharkError, match="no bucket"):
        open_warehouse("s3://nobody-has-this-bucket/wh", moto.address, tmp_path / "b")
    open_warehouse(folder, moto.address, tmp_path / "b").stop()
    with pytest.raises(UnsupportedError, match="with a Hive metastore"):
        sharkpy.connect("local[2]", folder, **{"shark.metastore": "hive"})


def test_two_catalogs_at_once(seaweed: S3Server, folder: str, tmp_path: Path) -> None:
    """One of them gets the warehouse; sessions of one catalog that begin at once all do."""
    for turn in range(4):
        barrier, outcomes = Barrier(4), list[str]()

        def begin(home: Path, warehouse: str, barrier: Barrier = barrier, outcomes: list[str] = outcomes) -> None:
            barrier.wait()
            try:
                open_warehouse(warehouse, seaweed.address, home).stop()
            except SharkError as error:
                outcomes.append(error.sqlstate)
            else:
                outcomes.append(home.name)

        homes = [tmp_path / str(turn) / name for name in ("a", "a", "b", "b")]
        threads = [Thread(target=begin, args=(home, f"{folder}/{turn}")) for home in homes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) in (["55006", "55006", "a", "a"], ["55006", "55006", "b", "b"])


def test_an_answer_that_was_lost(folder: str, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = WarehouseClaims.put

    def lost(self: WarehouseClaims, claim: Claim) -> bool:
        assert put(self, claim)
        return False

    monkeypatch.setattr(WarehouseClaims, "put", lost)
    opened(tmp_path / "a").stop()
    opened(tmp_path / "a").stop()
    refused(opened, tmp_path / "b")


def test_a_catalog_moves_to_another_warehouse(folder: str, opened: Open, tmp_path: Path, s3: Any) -> None:
    """Its places are relative to the warehouse, whose objects were copied."""
    s3.put_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}-new/t/x.csv", Body=b"7\n")
    with opened(tmp_path / "a") as session:
        session.sql("CREATE DATABASE shop").close()
        session.sql(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{folder}/t'").close()
    with closing(sqlite3.connect(tmp_path / "a" / CATALOG_FILE)) as file:
        file.executescript("DELETE FROM place_; DELETE FROM owner_;")
    with opened(tmp_path / "a", f"{folder}-new") as session:
        assert session.catalog.database("shop").location == f"{folder}-new/shop.db"
        assert session.sql("SELECT a FROM t").fetchall() == [(7,)]


def test_a_guest_of_the_server(folder: str, opened: Open, tmp_path: Path, s3: Any) -> None:
    """Its statements name files in the warehouse, as in a local one, and nothing of the engine's own."""
    for name in ("wh/x.csv", "other/x.csv"):
        s3.put_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}/{name}", Body=b"k\n1\n")
    with opened(tmp_path / "a", f"{folder}/wh") as owner:
        guest = owner.new_session(shark_user="ann")
        guest.restrictions = _restrictions(owner, ServerConfig())
        assert guest.sql(f"SELECT k FROM csv.`{folder}/wh/x.csv`").fetchall() == [(1,)]
        for session, place in (
            (guest, f"{folder}/other/x.csv"),
            (guest, f"{tmp_path}/a/{CATALOG_FILE}"),
            (guest, f"{tmp_path}/x.csv"),
            (guest, f"{folder}/wh/.sharkpy/owner-1.json"),
            (owner, f"{folder}/wh/.sharkpy/owner-1.json"),
            (owner, f"s3a://{BUCKET}/any/.sharkpy"),
        ):
            for text in (
                f"SELECT * FROM text.`{place}`",
                f"CREATE EXTERNAL TABLE {uuid4().hex} (a STRING) LOCATION '{place}'",
            ):
                with pytest.raises(NotAllowedError):
                    session.sql(text)


KILLED = """
import os, signal, sys
from pathlib import Path
from sharkpy.catalog.catalog import Catalog
from sharkpy.sources.storage.warehouse_claims import WarehouseClaims
from tests.storage.warehouses import open_warehouse

kind, name, when, *arguments = sys.argv[1:]
owner = {"Catalog": Catalog, "WarehouseClaims": WarehouseClaims}[kind]
call = getattr(owner, name)

def killed(*arguments):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    call(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, killed)
open_warehouse(arguments[0], arguments[1], Path(arguments[2]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "call",
    [("Catalog", "owner"), ("WarehouseClaims", "newest"), ("WarehouseClaims", "put"), ("Catalog", "note_claimed")],
)
def test_a_kill_blocks_nobody(
    call: tuple[str, str], when: str, folder: str, moto: S3Server, opened: Open, tmp_path: Path, s3: Any
) -> None:
    arguments = (*call, when, folder, moto.address, tmp_path / "a")
    assert status_of(KILLED, *arguments) == -signal.SIGKILL
    has_claim = bool(claims(s3, folder))
    assert has_claim == (call[1] == "note_claimed" or (call[1], when) == ("put", "after"))
    if has_claim:
        refused(opened, tmp_path / "b")
    opened(tmp_path / "a").stop()
    refused(opened, tmp_path / "b")
    assert list(claims(s3, folder)) == ["owner-1.json"]


def test_the_highest_number_counts() -> None:
    claims = WarehouseClaims(memory_store(), "s3://memory/wh")
    assert claims.newest() is None
    made = [Claim(number, f"owner{number}", "host:/a", "ann", "now") for number in (1, 2, 10)]
    for claim in made:
        assert claims.put(claim)
        assert claims.newest() == claim
    assert not claims.put(Claim(2, "other", "host:/b", "bob", "now"))
    assert claims.newest() == made[-1]


def test_doctor(
    folder: str, moto: S3Server, opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str], s3: Any
) -> None:
    def doctor(home: Path) -> tuple[int, list[str]]:
        given = keys(moto.address) | {"shark.catalog.dir": str(home)}
        sets = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
        code = main([*sets, "--warehouse", folder, "doctor"])
        return code, capsys.readouterr().out.splitlines()

    home = tmp_path / "a"
    _, lines = doctor(home)
    assert [line.split()[1] for line in lines[-6:]] == ["address", "keys", "list", "read", "write", "claim"]
    assert lines[-1].endswith("nobody's yet: the first session takes the warehouse")
    assert not home.exists()
    assert claims(s3, folder) == {}
    opened(home).stop()
    assert doctor(home)[1][-1].startswith("ok   claim            the warehouse is this catalog's since ")
    code, lines = doctor(tmp_path / "b")
    assert code == 1
    assert lines[-1].startswith("FAIL claim            the warehouse belongs to the catalog at ")
    (claim,) = claims(s3, folder).values()
    assert lines[-1].endswith(f"shark.warehouse.take.over={claim['owner']}")
    s3.delete_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}/.sharkpy/owner-1.json")
    assert doctor(home)[1][-1].startswith("FAIL claim            nothing tells that it is this catalog's")
