"""Table of settings: each row once, under one name, by each of its keys."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, SharkError
from sharkpy.base.secrets import names_secret
from sharkpy.base.settings import SETTINGS, Conf, Setting, is_address, is_guarded
from sharkpy.base.settings.conf import setting_like
from sharkpy.session.defaults import setting_key


def test_each_key_belongs_to_one_setting() -> None:
    keys = Counter(key.lower() for setting in SETTINGS for key in (setting.key, *setting.synonyms))
    assert [key for key, number in keys.items() if number > 1] == []


def test_rows_of_all_subjects_are_names_of_the_package() -> None:
    named = [value for value in vars(settings).values() if isinstance(value, Setting)]
    assert len(named) == len(SETTINGS)
    assert {setting.key for setting in named} == {setting.key for setting in SETTINGS}


def test_every_default_survives_its_own_text() -> None:
    conf = Conf()
    for setting in SETTINGS:
        assert setting.parse(conf[setting.key]) == setting.default, setting.key


def test_a_synonym_sets_and_gives_the_setting() -> None:
    conf = Conf({"SPARK.SQL.SESSION.TIMEZONE": "UTC"})
    assert conf["hive.local.time.zone"] == conf.value(settings.TIME_ZONE)
    conf.reset("hive.local.time.zone")
    assert conf.value(settings.TIME_ZONE) == settings.TIME_ZONE.default


def refusal(action: Callable[[], object]) -> SharkError | None:
    """The error that `action` ends in; None for none, and any other than the engine's own is a failure."""
    try:
        action()
    except SharkError as error:
        return error
    return None


@pytest.mark.variants(3)
@pytest.mark.parametrize("text", ["-5", "0", "1", "1" + "0" * 30, "9" * 5000, "1e400", "nan", "inf", "１２", "x", ""])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_value_is_within_its_range_or_refused(setting: Setting[int], text: str) -> None:
    conf = Conf()
    error = refusal(lambda: conf.set(setting.key, text))
    value = conf.value(setting)
    if error is not None:
        assert error.sqlstate in ("22023", "0A000")
        assert len(str(error)) < 300
        assert value == setting.default
    assert type(value) is type(setting.default)
    assert not isinstance(value, int | float) or isinstance(value, bool) or setting.least <= value <= setting.greatest


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("shark.block.rows", "-5", "from 1 to 2147483647"),
        ("shark.block.rows", "0", "from 1 to 2147483647"),
        ("shark.query.timeout", "-0.5", "from 0 to 1000000000"),
        ("shark.pruning", "maybe", "true or false"),
        ("hive.exec.dynamic.partition.mode", "strikt", "nonstrict or strict"),
    ],
)
def test_a_refusal_names_the_range(key: str, value: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f'"{value}" is not a value of {key}')) as caught:
        Conf({key: value})
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("text", "value"), [("1k", 1024), ("2KB", 2048), ("1.5g", 3 << 29), (" 7 ", 7), ("12b", 12), ("1t", 1 << 40)]
)
def test_sizes_have_units(text: str, value: int) -> None:
    assert settings.BLOCK_BYTES.parse(text) == value


def test_a_mistyped_key_of_the_engine_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError, match=r'no setting "shark\.stroe\.memory\.limit"') as caught:
        Conf({"shark.stroe.memory.limit": "1g"})
    assert caught.value.hint == 'did you mean "shark.store.memory.limit"?'


def test_a_keyword_that_can_be_no_setting_is_refused() -> None:
    """The keyword `conf={…}` belongs to another library."""
    with pytest.raises(ConfigurationError, match='no setting "conf"'):
        setting_key("conf")
    assert [setting_key(key) for key in ("shark_block_rows", "fs.s3a.access_key", "hivevar:x")] == [
        "shark.block.rows",
        "fs.s3a.access_key",
        "hivevar:x",
    ]


def test_keys_of_other_systems_are_kept() -> None:
    conf = Conf({"hive.no.such.key": "1", "spark.sql.no.such": "2", "mapred.x": "3", "hivevar:sharkskin": "4"})
    assert conf["hive.no.such.key"] == "1"
    assert conf["hivevar:sharkskin"] == "4"


def test_patterns_are_keys_of_their_own() -> None:
    patterns = Counter(pattern for setting in SETTINGS for pattern in setting.patterns)
    assert [one for one, number in patterns.items() if number > 1 or one.count("*") != 1 or one != one.lower()] == []
    assert all(one.startswith("fs.") for one in patterns)


def test_a_setting_of_one_bucket() -> None:
    conf = Conf({"FS.S3A.bucket.My.Logs.Endpoint": " host:1 ", "fs.s3a.endpoint": "other"})
    assert conf["fs.s3a.bucket.my.logs.endpoint"] == conf["fs.s3a.bucket.MY.logs.endpoint"] == "host:1"
    assert conf["fs.s3a.endpoint"] == "other"
    assert "fs.s3a.bucket.b.endpoint" not in conf
    conf.reset("fs.s3a.bucket.my.logs.ENDPOINT")
    assert conf.changes() == (("fs.s3a.endpoint", "other"),)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fs.s3a.path.style.access", "perhaps"),
        ("fs.s3a.bucket.b.connection.ssl.enabled", "perhaps"),
        ("fs.s3a.endpoint.region", "eu.evil.example/"),
        ("fs.s3a.bucket.b.endpoint.region", "a b"),
        ("fs.s3a.endpoint", "ftp://host"),
        ("fs.s3a.endpoint", "http://user:password@host"),
        ("fs.s3a.bucket.b.endpoint", "http://host/?x=1"),
        ("fs.azure.account.oauth2.client.endpoint.me", "http://host:port"),
        ("fs.azure.abfs.account.name", "me.evil.example/"),
        ("fs.azure.abfs.account.name", "a@b"),
    ],
)
def test_values_of_storage_are_checked(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Conf({key: value})
    assert caught.value.sqlstate == "22023"


@pytest.mark.parametrize(
    "host",
    [
        *("169.254.169.254", "169.254.43518", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.170.2"),
        *("[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]"),
        *("[::ffff:169.254.169.254]", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200"),
        *("metadata.google.internal", "Metadata.Google.Internal.", "instance-data.ec2.internal"),
    ],
)
def test_no_storage_is_where_machines_ask_for_keys(host: str) -> None:
    for endpoint in (host, f"http://{host}:80", f"https://{host}/latest"):
        with pytest.raises(ConfigurationError, match="machines ask there"):
            Conf({"fs.s3a.endpoint": endpoint})


def test_endpoints_elsewhere_are_taken() -> None:
    for text in ("127.0.0.1:9000", "http://localhost", "https://x.example/storage/v1/s3", "[::1]:80", "minio", ""):
        assert Conf({"fs.s3a.endpoint": f" {text} "})["fs.s3a.endpoint"] == text


def test_settings_of_storage_and_restrictions() -> None:
    keys = [key.replace("*", "x") for one in SETTINGS for key in (one.key, *one.patterns) if key.startswith("fs.")]
    addresses = {key for key in keys if {"endpoint", "url"} & set(key.split(".")) and "region" not in key}
    assert addresses == {key for key in keys if is_address(key)}
    assert len(addresses) > 4
    assert is_guarded("fs.gs.auth.service.account.json.keyfile")
    assert is_guarded("fs.s3a.bucket.b.aws.credentials.provider")
    assert not is_guarded("fs.s3a.bucket.b.secret.key")


def test_the_page_about_storage_has_all_its_settings() -> None:
    text = (Path(__file__).parents[1] / "docs" / "storage.md").read_text(encoding="utf-8")
    rows = text.split("| setting | meaning |")[1].split("\n\n")[0]
    documented = {re.sub(r"<\w+>", "x", key) for key in re.findall(r"`((?:fs|shark)\.[\w.<>]+)`", rows)}
    assert [key for key in documented if setting_like(key) is None] == []
    keys = {one.key for one in SETTINGS if one.key.startswith(("fs.", "shark.hadoop.", "shark.storage."))}
    assert keys - documented == set()


SECRETS = {"fs.s3a.secret.key": "one", "fs.s3a.bucket.B.secret.key": "two", "fs.s3a.encryption.key": "three"}


def test_secrets_are_kept_apart() -> None:
    conf = Conf({**SECRETS, "my.key": "4"})
    assert conf.changes() == (("my.key", "4"),)
    assert [conf[key] for key in SECRETS] == ["***"] * 3
    assert all(names_secret(key) for key in SECRETS)
    assert not {"one", "two", "three"} & set(dict(conf).values())
    assert [secret and secret.reveal() for secret in map(conf.given, SECRETS)] == ["one", "two", "three"]
    given = conf.given("my.key")
    assert given is not None
    assert given.reveal() == "4"
    assert conf.given("fs.s3a.access.key") is conf.given("shark.block.rows") is None
    assert conf["fs.s3a.access.key"] == ""


def test_an_id_tells_secrets_apart() -> None:
    one, other = Conf(SECRETS), Conf(dict(reversed(SECRETS.items())))
    assert one.secrets_id == other.secrets_id == one.copy().secrets_id
    assert len({one.secrets_id, "", Conf(SECRETS | {"fs.s3a.secret.key": "x"}).secrets_id}) == 3
    without = one.without_secrets()
    other.reset("fs.s3a.bucket.b.SECRET.key")
    assert other.given("fs.s3a.bucket.B.secret.key") is None
    assert other.secrets_id not in ("", one.secrets_id)
    other.reset()
    assert without.secrets_id == other.secrets_id == Conf({"my.key": "4"}).secrets_id == ""
    assert without["fs.s3a.secret.key"] == ""
    assert one["fs.s3a.secret.key"] == "***"
