"""Access to storage: places of options and keys, their order, and the sessions that may use them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from sharkpy.base.errors import (
    BindError,
    ConfigurationError,
    InternalError,
    NotAllowedError,
    UnsupportedError,
)
from sharkpy.base.secrets import Secret
from sharkpy.base.settings import SETTINGS, Conf
from sharkpy.sources.storage.access import ACCESSES, StorageAccess, access_to
from sharkpy.sources.storage.setting_sources import kinds_of

PLACE = "s3a://b/folder"
ID, KEY, TOKEN = "fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token"
PROVIDER = "fs.s3a.aws.credentials.provider"
ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"


pytestmark = pytest.mark.usefixtures("home")


def site(folder: Path, **values: str) -> None:
    """A core-site.xml with settings, whose names have _ for dots."""
    rows = "".join(
        f"<property><name>{name.replace('_', '.')}</name><value>\n {value} </value></property>"
        for name, value in values.items()
    )
    (folder / "core-site.xml").write_text(f"<?xml version='1.0'?><configuration>{rows}</configuration>")


def text(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


class Given:
    """Settings of sessions, files and the environment: `levels` in their order of precedence."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session, self.owner = Conf(), Conf()
        self._home = home
        self._set = monkeypatch.setenv
        self.levels: list[tuple[str, Callable[[str], None]]] = [
            ("keys of the session", lambda key: self._conf(self.session, "fs.s3a.bucket.b.", key)),
            ("keys of the session", lambda key: self._conf(self.session, "fs.s3a.", key)),
            ("keys of the engine's owner", lambda key: self._conf(self.owner, "fs.s3a.bucket.b.", key)),
            ("keys of the engine's owner", lambda key: self._conf(self.owner, "fs.s3a.", key)),
            ("keys of spark.hadoop", lambda key: self._conf(self.owner, "spark.hadoop.fs.s3a.", key)),
            ("keys of core-site.xml", self._site),
            ("keys of the environment", self._environment),
            ('keys of the profile "default"', self._profile),
            ("keys of the machine", lambda _: self.owner.set("shark.storage.metadata.service", "true")),
            ("no keys", lambda _: None),
        ]

    def _conf(self, conf: Conf, prefix: str, key: str) -> None:
        conf.set(f"{prefix}access.key", f"id of {key}")
        conf.set(f"{prefix}secret.key", key)
        conf.set(f"{prefix}endpoint.region", key)

    def _site(self, key: str) -> None:
        site(self._home, fs_s3a_access_key=f"id of {key}", fs_s3a_secret_key=key, fs_s3a_endpoint_region=key)
        self.owner.set("shark.hadoop.conf.dir", str(self._home))

    def _environment(self, key: str) -> None:
        self._set("AWS_ACCESS_KEY_ID", f"id of {key}")
        self._set("AWS_SECRET_ACCESS_KEY", key)
        self._set("AWS_REGION", key)

    def _profile(self, key: str) -> None:
        credentials = f"[default]\naws_access_key_id = id of {key}\naws_secret_access_key = {key}\n"
        (self._home / ".aws/credentials").write_text(credentials)
        (self._home / ".aws/config").write_text(f"[default]\nregion = {key}\n")


@pytest.mark.parametrize("first", range(10))
def test_the_first_that_has_keys_gives_them(home: Path, monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    given = Given(home, monkeypatch)
    for number, (_, give) in list(enumerate(given.levels))[first:]:
        give(f"level-{number}")
    access = access_to(PLACE, given.session, given.owner)
    expected = f"level-{first}" if first < 8 else None
    assert access.origin == given.levels[first][0]
    assert text(access.secret(KEY)) == expected
    assert text(access.secret(ID)) == (expected and f"id of {expected}")
    assert access.value("fs.s3a.endpoint.region") == expected
    assert access.value("shark.storage.metadata.service") == ("true" if first == 8 else None)


def test_options_are_found_one_by_one_and_keys_together(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = Given(home, monkeypatch)
    for number, (_, give) in list(enumerate(given.levels))[3:]:
        give(f"level-{number}")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of the environment's keys")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://host:1")
    given.session.set("fs.s3a.bucket.b.path.style.access", "TRUE")
    given.session.set("fs.s3a.bucket.c.endpoint", "elsewhere")
    access = access_to(PLACE, given.session, given.owner)
    assert {key: text(value) for key, value in access.options} == {
        ID: "id of level-3",
        KEY: "level-3",
        "fs.s3a.endpoint": "http://host:1",
        "fs.s3a.endpoint.region": "level-3",
        "fs.s3a.path.style.access": "true",
    }
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "host:2")
    assert access_to(PLACE, given.session, given.owner).value("fs.s3a.endpoint") == "host:2"
    assert access_to("s3://c", given.session, given.owner).value("fs.s3a.endpoint") == "elsewhere"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({ID: "a"}, "fs.s3a.access.key is given without fs.s3a.secret.key"),
        ({KEY: "hidden"}, "fs.s3a.secret.key is given without fs.s3a.access.key"),
        ({"fs.s3a.bucket.b.access.key": "a", ID: "a", KEY: "hidden"}, "without fs.s3a.bucket.b.secret.key"),
        ({"spark.hadoop.fs.s3a.secret.key": "hidden"}, "is given without"),
    ],
)
def test_half_of_a_pair_is_an_error(values: dict[str, str], message: str) -> None:
    conf = Conf(values)
    with pytest.raises(ConfigurationError, match=message) as caught:
        access_to(PLACE, conf, conf)
    assert caught.value.sqlstate == "28000"
    assert "hidden" not in str(caught.value)


def test_what_is_empty_is_not_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "")
    site(home, fs_s3a_endpoint="", fs_s3a_secret_key=" ")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(home))
    conf = Conf({ID: "", KEY: " ", "fs.s3a.endpoint": ""})
    access = access_to(PLACE, conf, conf)
    assert access.origin == "keys of the environment"
    assert [key for key, _ in access.options] == [ID, KEY]


def test_values_of_all_sources_are_checked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "evil.example/")
    with pytest.raises(ConfigurationError, match="not a region"):
        access_to(PLACE, Conf(), Conf())
    monkeypatch.delenv("AWS_REGION")
    site(home, fs_s3a_endpoint="http://169.254.169.254")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(home))
    with pytest.raises(ConfigurationError, match="machines ask there"):
        access_to(PLACE, Conf(), Conf())


# Hadoop's providers


@pytest.mark.parametrize(
    ("providers", "origin"),
    [
        ("org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider", "keys of the engine's owner"),
        ("software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider", "keys of the environment"),
        ("ProfileCredentialsProvider", 'keys of the profile "default"'),
        ("org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider", "keys of the machine"),
        ("org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider", "no keys"),
        ("DefaultCredentialsProvider, SimpleAWSCredentialsProvider", "keys of the environment"),
    ],
)
def test_providers_name_sources(home: Path, monkeypatch: pytest.MonkeyPatch, providers: str, origin: str) -> None:
    given = Given(home, monkeypatch)
    for _, give in given.levels[3:8]:
        give("x")
    given.owner.set("fs.s3a.bucket.b.aws.credentials.provider", providers)
    access = access_to(PLACE, given.owner, given.owner)
    assert access.origin == origin
    assert (access.secret(KEY) is None) is (origin in ("no keys", "keys of the machine"))
    assert access.value(PROVIDER) == (providers if origin == "no keys" else None)
    assert access_to("s3://c", given.owner, given.owner).origin == "keys of the engine's owner"


def test_keys_come_before_nobody_in_a_list() -> None:
    both = "SimpleAWSCredentialsProvider,AnonymousAWSCredentialsProvider"
    conf = Conf({PROVIDER: both})
    assert access_to(PLACE, conf, conf).value(PROVIDER) == both
    conf = Conf({PROVIDER: both, ID: "a", KEY: "b"})
    assert access_to(PLACE, conf, conf).value(PROVIDER) is None


def test_a_provider_that_nobody_knows() -> None:
    with pytest.raises(UnsupportedError, match=r"org\.example\.Mine"):
        kinds_of("SimpleAWSCredentialsProvider,org.example.Mine")


# Restricted sessions


OWNERS = {
    ID: "owner's id",
    KEY: "owner's key",
    "fs.s3a.endpoint": "owners.example",
    "fs.s3a.endpoint.region": "home",
    "fs.s3a.path.style.access": "true",
}


def test_a_restricted_session_has_the_owners_access_as_it_is() -> None:
    """The session cannot choose the target of a request that the owner's keys sign."""
    owner = Conf(OWNERS)
    session = Conf({"fs.s3a.endpoint": "evil.example", "fs.s3a.endpoint.region": "there", TOKEN: "x"})
    access = access_to(PLACE, session, owner, is_restricted=True)
    assert access == access_to(PLACE, owner, owner)
    assert access.value("fs.s3a.endpoint") == "owners.example"
    assert access.secret(TOKEN) is None


def test_a_restricted_session_without_keys_has_none_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    for place in (PLACE, "gs://b/x", "abfss://c@a.dfs.core.windows.net/x", "https://host/x", "hdfs://n/x"):
        with pytest.raises(NotAllowedError, match="out of this session's bounds"):
            access_to(place, Conf(), Conf(OWNERS), is_restricted=True, is_open=False)


@pytest.mark.parametrize("is_open", [True, False])
def test_a_restricted_sessions_own_keys_go_where_it_says(monkeypatch: pytest.MonkeyPatch, is_open: bool) -> None:
    monkeypatch.setenv("AWS_REGION", "of-the-machine")
    session = Conf({"fs.s3a.bucket.b.access.key": "own id", "fs.s3a.bucket.b.secret.key": "own key"})
    session.set("fs.s3a.endpoint", "mine.example")
    access = access_to(PLACE, session, Conf(OWNERS), is_restricted=True, is_open=is_open)
    assert access.origin == "keys of the session"
    assert {key: text(value) for key, value in access.options} == {
        ID: "own id",
        KEY: "own key",
        "fs.s3a.endpoint": "mine.example",
        "shark.storage.private.hosts": "",
    }
    owner = Conf({**OWNERS, "fs.s3a.endpoint": "mine.example"})
    access = access_to(PLACE, session, owner, is_restricted=True, is_open=is_open)
    assert "shark.storage.private.hosts" not in dict(access.options)
    with pytest.raises(NotAllowedError):
        access_to("s3://c/x", session, Conf(OWNERS), is_restricted=True, is_open=False)


def test_only_keys_open_a_way_out_of_bounds() -> None:
    provider = Conf({PROVIDER: "AnonymousAWSCredentialsProvider", "fs.gs.auth.type": "UNAUTHENTICATED"})
    for place in (PLACE, "gs://b"):
        with pytest.raises(NotAllowedError):
            access_to(place, provider, Conf(), is_restricted=True, is_open=False)


def test_what_a_session_has_from_its_owner_are_no_keys_of_its_own() -> None:
    """New sessions begin with the owner's settings, among them the name of a file with a key."""
    owner = Conf({"fs.gs.auth.service.account.json.keyfile": "/owners/key.json", PROVIDER: ANONYMOUS, **OWNERS})
    session = owner.without_secrets()
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        access_to("gs://b/x", session, owner, is_restricted=True, is_open=False)
    session.set(ID, "own id")
    session.set(KEY, "own key")
    assert access_to(PLACE, session, owner, is_restricted=True, is_open=False).value(PROVIDER) is None


# Other kinds of storage


def test_google(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/of/the/environment")
    access = access_to("gs://b/x", Conf(), Conf({"fs.gs.storage.root.url": "http://host:1"}))
    assert access.value("fs.gs.auth.service.account.json.keyfile") == "/of/the/environment"
    assert access.value("fs.gs.storage.root.url") == "http://host:1"
    assert access.origin == "keys of the environment"


AZURE_KEY = "fs.azure.account.key"
AZURE_SAS = "fs.azure.sas.fixed.token"
LOGIN = "fs.azure.account.oauth2.client"


@pytest.mark.parametrize(
    ("values", "key", "value"),
    [
        ({f"{AZURE_KEY}.me.dfs.core.windows.net": "k", AZURE_KEY: "of all"}, AZURE_KEY, "k"),
        ({f"{AZURE_KEY}.me.blob.core.windows.net": "k"}, AZURE_KEY, "k"),
        ({AZURE_KEY: "k"}, AZURE_KEY, "k"),
        (
            {"fs.azure.sas.files.me.blob.core.windows.net": "s", "fs.azure.sas.other.me.blob.core.windows.net": "o"},
            AZURE_SAS,
            "s",
        ),
        ({AZURE_SAS: "s"}, AZURE_SAS, "s"),
        (
            {f"{LOGIN}.id": "i", f"{LOGIN}.secret": "s", f"{LOGIN}.endpoint": "https://login.example/t/oauth2/token"},
            f"{LOGIN}.secret",
            "s",
        ),
    ],
)
@pytest.mark.parametrize("place", ["abfss://files@me.dfs.core.windows.net", "wasb://files@me.blob.core.windows.net"])
def test_azure(values: dict[str, str], key: str, value: str, place: str) -> None:
    conf = Conf({**values, "fs.azure.account.key.other.dfs.core.windows.net": "of another account"})
    access = access_to(f"{place}/x", conf, conf)
    assert text(access.secret(key)) == value
    assert access.origin == "keys of the engine's owner"


def test_azure_with_an_account_that_a_setting_names() -> None:
    conf = Conf({f"{AZURE_KEY}.me.dfs.core.windows.net": "k", "fs.azure.abfs.account.name": "me"})
    assert text(access_to("az://files/x", conf, conf).secret(AZURE_KEY)) == "k"
    assert text(access_to("az://files/x", conf, Conf(), is_restricted=True, is_open=False).secret(AZURE_KEY)) == "k"
    assert access_to("az://files@other/x", conf, conf).secret(AZURE_KEY) is None


def test_azure_in_another_cloud() -> None:
    conf = Conf({f"{AZURE_KEY}.me.dfs.core.chinacloudapi.cn": "c", f"{AZURE_KEY}.me.dfs.core.windows.net": "k"})
    assert text(access_to("abfss://files@me.dfs.core.chinacloudapi.cn", conf, conf).secret(AZURE_KEY)) == "c"


def test_a_login_without_a_secret_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workload identities have an id and a tenant in the environment."""
    monkeypatch.setenv("AZURE_CLIENT_ID", "i")
    monkeypatch.setenv("AZURE_TENANT_ID", "t")
    assert access_to("az://files", Conf(), Conf()).origin == "no keys"
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "s")
    access = access_to("az://files", Conf(), Conf())
    endpoint = access.value("fs.azure.account.oauth2.client.endpoint")
    assert endpoint == "https://login.microsoftonline.com/t/oauth2/token"


@pytest.mark.parametrize("place", ["hdfs://n:8020/x", "https://host/x", "/data/x", "file:///data"])
def test_storage_without_settings(place: str) -> None:
    assert access_to(place, Conf(OWNERS), Conf(OWNERS)).options == ()


@pytest.mark.parametrize(
    "place",
    [
        "s3://",
        "s3:///x",
        "s3a://a@b/x",
        "s3://a b/x",
        "s3://evil.example:80/x",
        "gs://b:1/x",
        "abfss://c@evil.example:80/x",
        "abfss://c@me.dfs.core.evil.example/x",
        "wasbs://c@evil.example/x",
        "abfss://@a/x",
        "az://",
    ],
)
def test_no_bucket(place: str) -> None:
    with pytest.raises(BindError) as caught:
        access_to(place, Conf(), Conf())
    assert caught.value.sqlstate == "42602"


def test_each_setting_of_storage_is_used() -> None:
    """One that no bucket has would be a word without a meaning."""
    firsts = (AZURE_KEY, AZURE_SAS, "fs.gs.auth.access.token", "fs.gs.auth.service.account.json.keyfile")
    everything = Conf({"shark.storage.metadata.service": "true"})
    for one in SETTINGS:
        if one.key.startswith("fs.") and one.key not in (PROVIDER, *firsts):
            everything.set(one.key, "true" if one.choices or isinstance(one.default, bool) else "x")
    found = {
        key
        for place in ("s3://b", "gs://b", "az://c")
        for conf in (everything, *(Conf({first: "x"}) for first in firsts))
        for key, _ in access_to(place, conf, conf).options
    }
    assert {one.key for one in SETTINGS if one.key.startswith("fs.")} <= found | {PROVIDER}


# The object


def test_an_access_shows_no_option() -> None:
    access = StorageAccess.of({KEY: Secret("hunter2"), "fs.s3a.endpoint": Secret("place.example")}, "keys of the test")
    for shown in (repr(access), f"{access}", f"{access.options}"):
        assert "hunter2" not in shown
        assert "place.example" not in shown
    assert repr(access) == f"StorageAccess(id='{access.id}', origin='keys of the test')"
    assert access.value(KEY) is None
    assert access.secret("fs.s3a.endpoint") is None
    assert access.value("fs.s3a.endpoint") == "place.example"
    assert text(access.secret(KEY)) == "hunter2"


def test_accesses_are_equal_by_what_they_give() -> None:
    one, same = (StorageAccess.of({ID: Secret("a"), KEY: Secret("b")}, origin) for origin in ("x", "y"))
    other = StorageAccess.of({ID: Secret("a"), KEY: Secret("c")}, "x")
    assert one == same == pickle.loads(pickle.dumps(one))
    assert len({one, same, other}) == 2
    assert StorageAccess.of({}, "x") == StorageAccess.of({}, "y")


def test_a_book_finds_accesses_by_their_ids() -> None:
    access = StorageAccess.of({KEY: Secret("b")}, "x")
    ACCESSES.note((access,))
    assert ACCESSES.find(access.id) is access


def test_a_book_knows_an_access_as_long_as_anybody_has_one_of_its_id() -> None:
    """Sessions and tasks have objects of their own, and end in any order."""
    one, same = (StorageAccess.of({KEY: Secret(f"only here {ID}")}, origin) for origin in ("x", "y"))
    for access in (one, same, one):
        ACCESSES.note((access,))
    access_id = one.id
    del one, access
    assert ACCESSES.find(access_id) is same
    other = StorageAccess.of({KEY: Secret(f"only here {ID}")}, "z")
    ACCESSES.note((other,))
    del other
    assert ACCESSES.find(access_id) is same
    del same
    with pytest.raises(InternalError, match="no access"):
        ACCESSES.find(access_id)


# core-site.xml


def test_a_site_is_read_again_once_it_is_another(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(home))
    assert access_to(PLACE, Conf(), Conf()).value("fs.s3a.endpoint") is None
    for endpoint in ("one.example", "four.example", "three.example"):
        site(home, fs_s3a_endpoint=endpoint)
        assert access_to(PLACE, Conf(), Conf()).value("fs.s3a.endpoint") == endpoint
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    site(elsewhere, fs_s3a_endpoint="five.example")
    owner = Conf({"shark.hadoop.conf.dir": str(elsewhere)})
    assert access_to(PLACE, Conf(), owner).value("fs.s3a.endpoint") == "five.example"


def test_a_broken_site(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(home))
    (home / "core-site.xml").write_text("<configuration>\n<property><name>fs.s3a.secret.key</name><value>hidden")
    with pytest.raises(ConfigurationError, match=r"core-site.xml\" is not XML: line 2") as caught:
        access_to(PLACE, Conf(), Conf())
    assert "hidden" not in str(caught.value)
    (home / "core-site.xml").unlink()
    (home / "core-site.xml").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        access_to(PLACE, Conf(), Conf())
