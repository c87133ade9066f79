"""Secrets among a session's settings: they are used, and neither shown, stored nor handed on."""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError, NotAllowedError, SharkError, UnsupportedError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.session import prepared_statement
from sharkpy.streaming.commands.definition import settings_of

KEY = "fs.s3a.secret.key"


@pytest.fixture
def secret() -> str:
    """A secret of the length of AWS's, with signs that URLs write in another way."""
    return f"/+{base64.b64encode(os.urandom(27)).decode()}=+"


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.history.saved": True}) as session:
        session.sql("CREATE TABLE t AS SELECT 1 AS a")
        yield session


def lines(session: sharkpy.SharkContext, statement: str) -> list[str]:
    return [str(value) for row in session.sql(statement).fetchall() for value in row]


def test_listings_show_stars(owner: sharkpy.SharkContext, secret: str) -> None:
    assert lines(owner, f"SET {KEY}") == [f"{KEY}="]
    owner.sql(f"SET {KEY}={secret}; SET fs.s3a.bucket.B.secret.key={secret}; SET spark.hadoop.{KEY}={secret}")
    owner.sql(f"SET fs.azure.sas.c.me.blob.core.windows.net={secret}; SET hivevar:place=s3a://id:{secret}@b/x")
    for name in (KEY, KEY.upper(), "fs.s3a.bucket.b.SECRET.key", f"hiveconf:{KEY}", f"spark.hadoop.{KEY}"):
        assert lines(owner, f"SET {name}") == [f"{name.removeprefix('hiveconf:')}=***"]
    for statement in ("SET", "SET -v"):
        listed = lines(owner, statement)
        assert not any(secret in line for line in listed)
        assert sum(line.split("  --")[0].endswith("=***") for line in listed) == 4
        assert "hivevar:place=s3a://***@b/x" in listed
    [row] = owner.sql(f"SHOW SETTINGS LIKE '{KEY}'").fetchall()
    assert row[:4] == (KEY, "***", "string", "")
    assert not any(secret in value for value in lines(owner, "SHOW SETTINGS"))
    assert owner.conf[KEY] == "***"
    owner.sql(f"RESET {KEY}")
    assert lines(owner, f"SET {KEY}") == [f"{KEY}="]
    assert lines(owner, "SHOW CONF 'fs.s3a.secret.key'")[:2] == ["", "STRING"]


def test_variables_get_stars(owner: sharkpy.SharkContext, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret may come from the environment, and goes nowhere from the settings."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    owner.sql(f"SET {KEY}=${{env:AWS_SECRET_ACCESS_KEY}}")
    given = owner.conf.given(KEY)
    assert given is not None
    assert given.reveal() == secret
    assert lines(owner, f"SELECT '${{hiveconf:{KEY}}}'") == ["***"]
    assert lines(owner, "SET env:AWS_SECRET_ACCESS_KEY") == ["env:AWS_SECRET_ACCESS_KEY=***"]
    assert [record.text for record in owner.history(like="SET fs.s3a*")] == [f"SET {KEY}=***"]


def test_other_sessions_have_no_secrets_of_the_owner(tmp_path: Path, secret: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **{KEY: secret, "fs.s3a.endpoint": "host:1"}) as owner:
        other = owner.new_session()
        assert other.conf.given(KEY) is None
        assert lines(other, "SET fs.s3a.endpoint") == ["fs.s3a.endpoint=host:1"]
        view = owner.with_settings({"shark.pruning": "false"})
        assert view.conf.secrets_id == owner.conf.secrets_id != other.conf.secrets_id == ""


def test_scripts_do_not_see_secrets(owner: sharkpy.SharkContext, secret: str) -> None:
    owner.sql(f"SET {KEY}={secret}; SET my.own=7; SET hive.exec.script.allow.partial.consumption=true")
    seen = lines(owner, "SELECT TRANSFORM(a) USING 'env' AS (line) FROM t")
    assert "my_own=7" in seen
    assert not any(secret in line or "fs_s3a" in line for line in seen)


def test_definitions_keep_no_secrets(owner: sharkpy.SharkContext, secret: str) -> None:
    owner.sql(f"SET {KEY}={secret}; SET my.own=7")
    assert dict(settings_of(owner)) == {"my.own": "7"}


def test_plans_are_not_those_of_other_secrets(
    owner: sharkpy.SharkContext, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound: list[str] = []
    original = prepared_statement.bind

    def bind(text: str, *rest: object) -> object:
        bound.append(text)
        return original(text, *rest)

    monkeypatch.setattr(prepared_statement, "bind", bind)
    query = "SELECT sum(a) FROM t"
    one, other = owner.new_session(), owner.new_session()
    for session in (one, other):
        session.sql(f"SET {KEY}={secret}")
    for session in (one, one, other):
        assert session.sql(query).fetchall() == [(1,)]
    assert bound.count(query) == 1
    other.sql(f"SET {KEY}={secret}x")
    assert other.sql(query).fetchall() == [(1,)]
    assert bound.count(query) == 2
    prepared = other.prepare(query)
    assert secret not in repr(prepared._key)
    prepared.close()


def test_properties_are_no_place_for_secrets(owner: sharkpy.SharkContext, secret: str) -> None:
    for statement in (
        f"CREATE TABLE x (a INT) TBLPROPERTIES ('a' = 'b', '{KEY}' = '{secret}')",
        f"ALTER TABLE t SET TBLPROPERTIES ('fs.s3a.bucket.b.access.key' = '{secret}')",
        f"CREATE DATABASE d WITH DBPROPERTIES ({KEY} = '{secret}')",
    ):
        with pytest.raises(UnsupportedError, match="a secret among properties") as caught:
            owner.sql(statement)
        assert secret not in str(caught.value)
        assert caught.value.column is not None
        assert statement[caught.value.column - 1 :].startswith(("'fs.", "fs."))


# Restricted sessions


@pytest.fixture
def guest(owner: sharkpy.SharkContext) -> sharkpy.SharkContext:
    session = owner.new_session(shark_user="ann")
    session.restrictions = Restrictions((Path(owner.catalog.warehouse_dir),), guards_settings=True)
    return session


def restrict(session: sharkpy.SharkContext, **more: bool) -> None:
    folders, closed = session.restrictions.folders, session.restrictions.closed
    session.restrictions = Restrictions(folders, closed, guards_settings=True, **more)


@pytest.mark.parametrize("key", ["fs.s3a.endpoint", "fs.s3a.bucket.b.endpoint", "fs.gs.storage.root.url"])
def test_a_guest_names_an_address_only_where_it_may_connect(guest: sharkpy.SharkContext, key: str) -> None:
    guest.sql(f"SET {key}=127.0.0.1:9000")
    with pytest.raises(ConfigurationError, match="machines ask there"):
        guest.sql(f"SET {key}=http://169.254.169.254/")
    restrict(guest, refuses_connections=True)
    with pytest.raises(NotAllowedError, match=f"an address in {key}"):
        guest.sql(f"SET {key}=127.0.0.1:9001")
    assert lines(guest, f"SET {key}") == [f"{key}=127.0.0.1:9000"]


def test_a_guest_has_keys_of_its_own_and_reads_no_files(guest: sharkpy.SharkContext, secret: str) -> None:
    restrict(guest, refuses_connections=True)
    guest.sql(f"SET fs.s3a.bucket.b.access.key=id; SET fs.s3a.bucket.b.secret.key={secret}; SET {KEY}={secret}")
    guest.sql("SET fs.s3a.endpoint.region=eu-central-1; SET fs.s3a.path.style.access=true")
    for key in (
        *("fs.gs.auth.service.account.json.keyfile", "fs.s3a.aws.credentials.provider", f"spark.hadoop.{KEY}"),
        *("fs.s3a.bucket.b.aws.credentials.provider", "shark.hadoop.conf.dir", "shark.storage.metadata.service"),
    ):
        with pytest.raises(NotAllowedError):
            guest.sql(f"SET {key}=true")
    guest.sql("RESET")
    assert guest.conf.secrets_id == ""


# Nothing remains


def forms_of(secret: str) -> set[bytes]:
    """Forms of a secret: as it is, in URLs, in JSON and within base64."""
    texts = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), secret.replace("/", "\\/")}
    encoded = {base64.b64encode(b"x" * before + secret.encode())[4:-4] for before in range(3)}
    return (
        {text.encode() for text in texts} | encoded | {one.translate(bytes.maketrans(b"+/", b"-_")) for one in encoded}
    )


def statements_with(secret: str) -> list[str]:
    place = f"s3a://AKIAIOSFODNN7EXAMPLE:{secret}@bucket/x"
    return [
        f"SET {KEY}={secret}",
        f"SET fs.s3a.bucket.logs.session.token={secret}",
        f"SET fs.azure.account.key.me.dfs.core.windows.net = {secret}",
        f"SET spark.hadoop.{KEY}={secret}",
        *("SET", "SET -v", "SHOW SETTINGS", f"SET {KEY}", f"SELECT '${{hiveconf:{KEY}}}'"),
        *("SHOW TABLES", "SHOW CREATE TABLE t", "SHOW TBLPROPERTIES t", "SHOW QUERIES", "SHOW DATABASES"),
        *("DESCRIBE t", "DESCRIBE EXTENDED t", "DESCRIBE FORMATTED t", "DESCRIBE DATABASE EXTENDED default"),
        *(f"EXPLAIN {form} SELECT count(*) FROM t WHERE a > 0" for form in ("", "EXTENDED", "ANALYZE", "OPTIMIZER")),
        "SELECT TRANSFORM(a) USING 'env' AS (line) FROM t",
        "CREATE TABLE made STORED AS PARQUET AS SELECT a FROM t",
        "CREATE VIEW seen AS SELECT a FROM made",
        "INSERT INTO made SELECT a + 1 FROM seen",
        "CACHE TABLE made",
        "SELECT sum(a) FROM made",
        # Errors, with the secret in places where people put it by mistake
        f"SETT {KEY}={secret}",
        f"SET shark.{KEY}={secret}",
        f"SET fs.s3a.endpoint=http://id:{secret}@host",
        f"SELECT nothing FROM t -- SET {KEY}={secret}",
        f"CREATE EXTERNAL TABLE x (a INT) LOCATION '{place}'",
        f"CREATE EXTERNAL TABLE x (a INT) LOCATION {place}",
        f"CREATE TABLE x (a INT) TBLPROPERTIES ('{KEY}'='{secret}')",
        f"SELECT * FROM csv.`{place}`",
        f"LOAD DATA INPATH '{place}' INTO TABLE t",
        f"INSERT OVERWRITE DIRECTORY '{place}' SELECT * FROM t",
        f"ADD FILE {place}",
        f"SELECT assert_true(a > 5) FROM t -- {place}",
        f"EXPORT TABLE t TO '{place}'",
        "SHOW QUERIES",
    ]


def test_no_secret_is_left_anywhere(tmp_path: Path, secret: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "tmp").mkdir()
    settings = {
        "shark.history.saved": True,
        "shark.temp.dir": tmp_path / "tmp",
        "shark.store.local.dir": tmp_path / "blocks",
        "hive.exec.script.allow.partial.consumption": True,
    }
    told: list[str] = []
    failed = 0
    caplog.set_level(logging.DEBUG, "sharkpy")
    with sharkpy.connect("local[2]", tmp_path / "w", **settings) as session:
        session.sql("CREATE TABLE t AS SELECT 1 AS a")
        session.sql(f"SET shark.debug.record={tmp_path / 'record'}")
        for statement in statements_with(secret):
            try:
                told += lines(session, statement)
            except SharkError as error:
                failed += 1
                told += [str(error), repr(error)]
        told += [f"{record}" for record in session.history(None)]
        told += [f"{one}" for one in (session.conf.changes(), dict(session.conf))]
        assert lines(session, "SELECT sum(a) FROM made") == ["3"]
    assert failed >= 10
    assert len(list((tmp_path / "record").rglob("*.json"))) > 2
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert any(KEY.encode() + b"=***" in content for content in kept.values()), "the history is there"
    told += [caplog.text]
    for form in forms_of(secret):
        assert [path for path, content in kept.items() if form in content] == []
        assert [text for text in told if form.decode() in text] == []
