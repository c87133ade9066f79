"""Sources of storage settings: sessions, Hadoop's files such as core-site.xml, the environment, AWS's profiles."""

from __future__ import annotations

import enum
import os
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import Secret, names_secret
from sharkpy.base.settings import HADOOP_CONF_DIR, Conf
from sharkpy.sources.storage.aws_profile import AwsProfile

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


class SourceKind(enum.Enum):
    """Kind of a source of keys; the last two provide no keys themselves."""

    SETTINGS = enum.auto()
    ENVIRONMENT = enum.auto()
    PROFILE = enum.auto()
    MACHINE = enum.auto()
    """The service that provides the keys of the machine's role."""
    NOBODY = enum.auto()
    """Requests without keys."""


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Source of settings.

    `find` returns the text under one of Hadoop's names, or None. `origin` is for errors. `group` returns all settings
    whose names have a prefix, by name, without secrets.
    """

    origin: str
    kind: SourceKind
    find: Callable[[str], Secret | None]
    group: Callable[[str], Mapping[str, Secret]] = lambda _: {}


def session_sources(session: Conf, *, is_restricted: bool = False) -> SettingSource:
    """Settings of a session. A restricted session gets the guarded settings only from the owner."""

    def find(name: str) -> Secret | None:
        return None if is_restricted and settings.is_guarded(name) else session.given(name)

    return SettingSource("keys of the session", SourceKind.SETTINGS, find, lambda start: _group(session, start))


def owner_sources(owner: Conf) -> tuple[SettingSource, ...]:
    """Sources of the engine's owner, in order of precedence."""
    profile = AwsProfile()
    return (
        SettingSource(
            "keys of the engine's owner", SourceKind.SETTINGS, owner.given, lambda start: _group(owner, start)
        ),
        SettingSource(
            "keys of spark.hadoop",
            SourceKind.SETTINGS,
            lambda name: owner.given(f"{_SPARK}{name}"),
            lambda start: _group(owner, start, _SPARK),
        ),
        SettingSource(
            "keys of core-site.xml",
            SourceKind.SETTINGS,
            lambda name: site_settings(owner).get(name),
            lambda start: _starting(site_settings(owner).items(), start),
        ),
        SettingSource("keys of the environment", SourceKind.ENVIRONMENT, _in_environment),
        SettingSource(f'keys of the profile "{profile.name}"', SourceKind.PROFILE, profile.find),
        SettingSource("application default credentials", SourceKind.PROFILE, _of_gcloud),
    )


_SPARK = "spark.hadoop."


def _group(conf: Conf, start: str, before: str = "") -> Mapping[str, Secret]:
    """Settings of `conf` whose names begin with `before` and `start`, by their names without `before`."""
    found = _starting(((key, Secret(value)) for key, value in conf.changes()), before + start)
    return {key.removeprefix(before): value for key, value in found.items()}


def _starting(values: Iterable[tuple[str, Secret]], start: str) -> dict[str, Secret]:
    return {key: value for key, value in values if key.startswith(start) and not names_secret(key)}


_VARIABLES = {
    settings.S3_ACCESS_KEY.key: ("AWS_ACCESS_KEY_ID",),
    settings.S3_SECRET_KEY.key: ("AWS_SECRET_ACCESS_KEY",),
    settings.S3_SESSION_TOKEN.key: ("AWS_SESSION_TOKEN",),
    settings.S3_REGION.key: ("AWS_REGION", "AWS_DEFAULT_REGION"),
    settings.S3_ENDPOINT.key: ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    settings.GS_KEY_FILE.key: ("GOOGLE_APPLICATION_CREDENTIALS",),
    settings.AZURE_ACCOUNT.key: ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    settings.AZURE_ACCOUNT_KEY.key: ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    settings.AZURE_SAS.key: ("AZURE_STORAGE_SAS_TOKEN",),
    settings.AZURE_CLIENT_ID.key: ("AZURE_CLIENT_ID",),
    settings.AZURE_CLIENT_SECRET.key: ("AZURE_CLIENT_SECRET",),
}
"""Environment variables of each setting: the first one that is set counts."""
_TENANT = "AZURE_TENANT_ID"


def _in_environment(name: str) -> Secret | None:
    if name == settings.AZURE_CLIENT_ENDPOINT.key and (tenant := os.environ.get(_TENANT)):
        return Secret(f"https://login.microsoftonline.com/{tenant}/oauth2/token")
    found = (os.environ.get(variable) for variable in _VARIABLES.get(name, ()))
    return next((Secret(value) for value in found if value), None)


_GCLOUD = ".config/gcloud/application_default_credentials.json"
"""File written by `gcloud auth application-default login`, below the home folder."""


def _of_gcloud(name: str) -> Secret | None:
    if name != settings.GS_KEY_FILE.key:
        return None
    folder = os.environ.get("CLOUDSDK_CONFIG")
    file = Path(folder, Path(_GCLOUD).name) if folder else Path(os.environ.get("HOME", "/"), _GCLOUD)
    return Secret(str(file)) if file.is_file() else None


_PROVIDERS = {
    "SimpleAWSCredentialsProvider": (SourceKind.SETTINGS,),
    "TemporaryAWSCredentialsProvider": (SourceKind.SETTINGS,),
    "EnvironmentVariableCredentialsProvider": (SourceKind.ENVIRONMENT,),
    "ProfileCredentialsProvider": (SourceKind.PROFILE,),
    "ProfileAWSCredentialsProvider": (SourceKind.PROFILE,),
    "DefaultCredentialsProvider": (SourceKind.ENVIRONMENT, SourceKind.PROFILE, SourceKind.MACHINE),
    "IAMInstanceCredentialsProvider": (SourceKind.MACHINE,),
    "InstanceProfileCredentialsProvider": (SourceKind.MACHINE,),
    "ContainerCredentialsProvider": (SourceKind.MACHINE,),
    "WebIdentityTokenFileCredentialsProvider": (SourceKind.MACHINE,),
    "AnonymousAWSCredentialsProvider": (SourceKind.NOBODY,),
}
"""Kinds of sources that Hadoop's credential providers use, by the last part of their class names."""


def kinds_of(providers: str) -> tuple[SourceKind, ...]:
    """Kinds of the providers in `fs.s3a.aws.credentials.provider`; UnsupportedError for an unknown class."""
    kinds: list[SourceKind] = []
    for text in providers.split(","):
        name = text.strip().rpartition(".")[2]
        if name not in _PROVIDERS:
            hint = f"there are {', '.join(_PROVIDERS)}"
            raise UnsupportedError(f'{settings.S3_CREDENTIALS.key} "{text.strip()}"', hint=hint)
        kinds += _PROVIDERS[name]
    return tuple(kinds)


_MOST_BYTES = 16 << 20
_FILES = ("hdfs-site.xml", "core-site.xml")
"""Files in order of precedence, as in Hadoop."""


def site_settings(owner: Conf) -> Mapping[str, Secret]:
    """Settings by name, from the files in `shark.hadoop.conf.dir` or HADOOP_CONF_DIR; empty if there are none.

    ConfigurationError for a file that cannot be read.
    """
    folder = owner.value(HADOOP_CONF_DIR) or os.environ.get("HADOOP_CONF_DIR")
    if not folder:
        return {}
    return ChainMap(*(_settings(Path(folder, name)) for name in _FILES))


def _settings(path: Path) -> dict[str, Secret]:
    try:
        status = path.stat()
        if status.st_size > _MOST_BYTES:
            raise ConfigurationError(f'"{path}" has more than {_MOST_BYTES >> 20} MB')
        return _parsed(path, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigurationError(f'"{path}" cannot be read: {error.strerror}', sqlstate="58030") from None


@lru_cache(maxsize=8)
def _parsed(path: Path, modified_ns: int, size_bytes: int) -> dict[str, Secret]:  # noqa: ARG001 - the file's version
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ConfigurationError(f'"{path}" is not XML: line {line}, column {column}') from None
    pairs = ((_text(one, "name"), _text(one, "value")) for one in root.iter("property"))
    return {name: Secret(value) for name, value in pairs if name}


def _text(element: Element, tag: str) -> str:
    return (element.findtext(tag) or "").strip()
