"""Secrets: shown nowhere by themselves, and found in other texts; the code that reveals them."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import BindError
from sharkpy.base.secrets import HIDDEN, Secret, fingerprint, names_secret, redacted
from sharkpy.base.settings import SETTINGS
from tests.examples import examples
from tests.test_layers import ROOT, files

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret("hunter2")
    shown = [str(secret), repr(secret), f"{secret}", f"{secret!r}", f"{secret:>10}", "%s" % secret, f"{[secret]}"]  # noqa: UP031
    assert not any("hunter2" in text for text in shown)
    assert f"{secret:>5}" == "  ***"
    assert pickle.loads(pickle.dumps(secret)).reveal() == copy.deepcopy(secret).reveal() == "hunter2"


REVEALING = {
    "sharkpy/base/secrets.py": "makes an id of them",
    "sharkpy/execution/engine.py": "gives Spark what its owner has set for Spark",
    "sharkpy/execution/spark/jvm_metastore.py": "gives the metastore's client the settings of file systems",
    "sharkpy/sources/lake/iceberg/catalogs.py": "gives pyiceberg the options of a catalog",
    "sharkpy/sources/lake/iceberg/rest.py": "checks the endpoint that a catalog gives with its keys",
    "sharkpy/sources/storage/access.py": "gives options that are no secrets as texts, and strips what was given",
    "sharkpy/sources/storage/google_keys.py": "gives keys to the library that asks for tokens",
    "sharkpy/sources/storage/aws_profile.py": "compares the options of a profile with those of its last keys",
    "sharkpy/sources/storage/buckets.py": "gives keys to the libraries that sign requests",
}
"""Files that reveal secrets, and what for."""


def test_few_reveal_secrets() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in files()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reveal"
        if not node.args
    }
    assert found == set(REVEALING)


def test_equal_secrets_have_equal_ids_in_one_process() -> None:
    one = fingerprint([("a", Secret("b")), ("c", Secret("d"))])
    assert one == fingerprint([("a", Secret("b")), ("c", Secret("d"))])
    others = [[("a", Secret("bc")), ("", Secret("d"))], [("ab", Secret("")), ("c", Secret("d"))], [("a", Secret("b"))]]
    assert len({one, *map(fingerprint, others)}) == 4
    code = "from sharkpy.base.secrets import *\nprint(fingerprint([('a', Secret('b')), ('c', Secret('d'))]))"
    elsewhere = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"[0-9a-f]{32}", elsewhere.stdout.strip())
    assert elsewhere.stdout.strip() != one


@pytest.mark.parametrize(
    ("key", "is_secret"),
    [
        ("fs.s3a.secret.key", True),
        ("FS.S3A.Access.Key", True),
        ("fs.s3a.bucket.my.logs.session.token", True),
        ("spark.hadoop.fs.s3a.secret.key", True),
        ("fs.s3n.awsSecretAccessKey", True),
        ("fs.s3.awsAccessKeyId", True),
        ("fs.s3a.encryption.key", True),
        ("fs.azure.account.key.me.dfs.core.windows.net", True),
        ("fs.azure.sas.files.me.blob.core.windows.net", True),
        ("fs.azure.account.oauth2.client.secret", True),
        ("fs.gs.auth.access.token", True),
        ("fs.gs.auth.client.secret", True),
        ("fs.gs.auth.refresh.token", True),
        ("fs.gs.auth.service.account.key.json", True),
        ("fs.gs.auth.service.account.json.keyfile", False),
        ("fs.gs.auth.service.account.private.key", True),
        ("iceberg.catalog.prod.credential", True),
        ("iceberg.catalog.prod.token", True),
        ("iceberg.catalog.of.all.token", True),
        ("iceberg.catalog.prod.uri", False),
        ("fs.s3a.endpoint", False),
        ("fs.s3a.aws.credentials.provider", False),
        ("fs.azure.account.oauth2.client.id", False),
        ("fs.azure.account.keyprovider.me", False),
        ("hive.exec.token", False),
        ("hivevar:secret", False),
        ("fs.token", False),
        ("my.fs.s3a.secret.key", False),
    ],
)
def test_names_of_secrets(key: str, is_secret: bool) -> None:
    assert names_secret(key) is is_secret
    assert (redacted(f"SET {key}=abc") == f"SET {key}={HIDDEN}") is (is_secret or key.startswith("my."))


def test_texts_hide_all_secrets_of_the_table() -> None:
    keys = [key for one in SETTINGS for key in (one.key, *one.synonyms, *one.patterns) if names_secret(key)]
    assert len(keys) > 8
    for key in (key.replace("*", "a.name") for key in keys):
        for text in (f"SET {key}=abc", f"set hiveconf:{key} = abc", f"'{key}'='abc'", f'{{"{key}": "abc"}}'):
            assert "abc" not in redacted(text), text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"SET fs.s3a.secret.key={KEY}", "SET fs.s3a.secret.key=***"),
        ("set FS.S3A.bucket.b.Secret.Key = x y ; SELECT 1", "set FS.S3A.bucket.b.Secret.Key = ***; SELECT 1"),
        ("SET fs.s3a.secret.key='a;b\\';c'; SELECT 1", "SET fs.s3a.secret.key=***; SELECT 1"),
        ("SET fs.s3a.secret.key=a\\;b; SELECT 1", "SET fs.s3a.secret.key=***; SELECT 1"),
        ("SET fs.s3a.secret.key=\n  a\n  b", "SET fs.s3a.secret.key=\n  ***"),
        ("SET fs.s3a.secret.key=", "SET fs.s3a.secret.key="),
        ("SET fs.s3a.endpoint=h; SET fs.s3a.secret.key=a", "SET fs.s3a.endpoint=h; SET fs.s3a.secret.key=***"),
        ("OPTIONS ('fs.s3a.secret.key' = 'a', 'x'='y')", "OPTIONS ('fs.s3a.secret.key' = '***', 'x'='y')"),
        ("[('fs.s3a.session.token', 'a')]", "[('fs.s3a.session.token', '***')]"),
        (f"LOCATION 's3a://{KEY_ID}:{KEY}@b/x'", "LOCATION 's3a://***@b/x'"),
        ("https://ann:p%40ss@host:1/x", "https://***@host:1/x"),
        ("https://token@host/x", "https://***@host/x"),
        ("abfss://files:secret@me.dfs.core.windows.net/x", "abfss://***@me.dfs.core.windows.net/x"),
        ("?sv=1&sig=a%2Fb&se=2", "?sv=1&sig=***&se=2"),
        ("?X-Amz-Credential=A%2F1&X-Amz-Signature=0f", "?X-Amz-Credential=***&X-Amz-Signature=***"),
        ("?X-Amz-Security-Token=a/b+c", "?X-Amz-Security-Token=***"),
        (f"the keys {KEY_ID}:{KEY} and {KEY_ID}", "the keys *** and ***"),
        (f"AWS_SECRET_ACCESS_KEY={KEY} AWS_SESSION_TOKEN='a'", "AWS_SECRET_ACCESS_KEY=*** AWS_SESSION_TOKEN='***'"),
        (f'{{"SecretAccessKey" : "{KEY}"}}', '{"SecretAccessKey" : "***"}'),
        ("AccountName=me;AccountKey=a+b==;End=c", "AccountName=me;AccountKey=***;End=c"),
        ("'kafka.sasl.password' = 'a b', 'x'='y'", "'kafka.sasl.password' = '***', 'x'='y'"),
        ("'kafka.ssl.key.pem'='-----BEGIN\nabc'", "'kafka.ssl.key.pem'='***'"),
        ("İİ SET fs.s3a.secret.key=a", "İİ SET fs.s3a.secret.key=***"),
    ],
)
def test_what_is_hidden(text: str, shown: str) -> None:
    assert redacted(text) == shown
    assert redacted(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT * FROM t WHERE a = 'b'",
        "SET fs.s3a.endpoint=http://127.0.0.1:9000",
        "SELECT fs.token = 1, signature = sig, password = upper(x) FROM fs",
        "LOCATION 'abfss://files@me.dfs.core.windows.net/x'",
        "http://host:9000/mail/a@b.example?x=1",
        "jdbc:hive2://host:10000/db",
        "write hive2://[user[:password]@]host[:port]",
        "asiapacificcountries, ASIA, AKIA",
        "SELECT '*** secret *** token' AS `access.key`",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert redacted(text) == text


FORMS = (
    "SET fs.s3a.secret.key={};",
    "set fs.s3a.bucket.a-b.session.token = {}",
    "TBLPROPERTIES ('fs.azure.account.key.x' = '{}')",
    "s3a://id:{}@bucket/x",
    "https://x/y?sig={}&a=b",
    "aws_secret_access_key = {}\n",
    "'kafka.sasl.password'='{}'",
)
NAMES = st.from_regex("[a-z0-9]{20}", fullmatch=True)
ANYTHING = st.text(st.sampled_from("fs.s3a=:/@'\"\\;?&ig password\nİ"), max_size=30)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(ANYTHING, st.sampled_from(FORMS)), max_size=4), ANYTHING, NAMES)
def test_whatever_stands_around_a_secret(parts: list[tuple[str, str]], end: str, secret: str) -> None:
    text = "".join(f"{before}\n; {form.format(secret)}\n" for before, form in parts) + end
    shown = redacted(text)
    assert secret not in shown
    assert redacted(shown) == shown


def test_secrets_across_windows_of_long_texts() -> None:
    for length in ((1 << 18) - 30, (1 << 18) - 8, (1 << 18) - 1, 1 << 18, (1 << 18) + 1):
        text = "x" * length + f" SET fs.s3a.secret.key={KEY}; " + "y" * (1 << 18) + f" s3://a:{KEY}@b"
        assert redacted(text) == text.replace(f"{KEY};", "***;").replace(f"a:{KEY}@", "***@")


def test_errors_quote_no_secrets() -> None:
    error = BindError(
        f'"s3a://{KEY_ID}:{KEY}@b/x" is not a place', hint=f"SET fs.s3a.secret.key={KEY}", line=1, column=2
    )
    again = pickle.loads(pickle.dumps(error))
    for one in (error, copy.copy(error), again):
        assert KEY not in f"{one} {one!r} {one.message} {one.hint} {one.args}"
    assert str(again) == str(error)
