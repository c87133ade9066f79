"""Sources of storage settings: sessions, Hadoop's files, the environment, AWS's profiles."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base import settings
from sharkpy.base.errors import UnsupportedError
from sharkpy.base.secrets import Secret, names_secret
from sharkpy.base.settings import Conf
from sharkpy.sources.storage.aws_profile import AwsProfile
from sharkpy.sources.storage.core_site import site_settings


class Kind(enum.Enum):
    """Kind of a source of keys; the last two provide no keys themselves."""

    SETTINGS = enum.auto()
    ENVIRONMENT = enum.auto()
    PROFILE = enum.auto()
    MACHINE = enum.auto()
    """The service that provides the keys of the machine's role."""
    NOBODY = enum.auto()
    """Requests without keys."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of settings.

    `find` returns the text under one of Hadoop's names, or None. `origin` is for errors. `group` returns all settings
    whose names have a prefix, by name, without secrets.
    """

    origin: str
    kind: Kind
    find: Callable[[str], Secret | None]
    group: Callable[[str], Mapping[str, Secret]] = lambda _: {}


def of_session(session: Conf, *, is_restricted: bool = False) -> Source:
    """Settings of a session. A restricted session gets the guarded settings only from the owner."""

    def find(name: str) -> Secret | None:
        return None if is_restricted and settings.is_guarded(name) else session.given(name)

    return Source("keys of the session", Kind.SETTINGS, find, lambda start: _group(session, start))


def of_owner(owner: Conf) -> tuple[Source, ...]:
    """Sources of the engine's owner, in order of precedence."""
    profile = AwsProfile()
    return (
        Source("keys of the engine's owner", Kind.SETTINGS, owner.given, lambda start: _group(owner, start)),
        Source(
            "keys of spark.hadoop",
            Kind.SETTINGS,
            lambda name: owner.given(f"{_SPARK}{name}"),
            lambda start: _group(owner, start, _SPARK),
        ),
        Source(
            "keys of core-site.xml",
            Kind.SETTINGS,
            lambda name: site_settings(owner).get(name),
            lambda start: _starting(site_settings(owner).items(), start),
        ),
        Source("keys of the environment", Kind.ENVIRONMENT, _in_environment),
        Source(f'keys of the profile "{profile.name}"', Kind.PROFILE, profile.find),
        Source("application default credentials", Kind.PROFILE, _of_gcloud),
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
    "SimpleAWSCredentialsProvider": (Kind.SETTINGS,),
    "TemporaryAWSCredentialsProvider": (Kind.SETTINGS,),
    "EnvironmentVariableCredentialsProvider": (Kind.ENVIRONMENT,),
    "ProfileCredentialsProvider": (Kind.PROFILE,),
    "ProfileAWSCredentialsProvider": (Kind.PROFILE,),
    "DefaultCredentialsProvider": (Kind.ENVIRONMENT, Kind.PROFILE, Kind.MACHINE),
    "IAMInstanceCredentialsProvider": (Kind.MACHINE,),
    "InstanceProfileCredentialsProvider": (Kind.MACHINE,),
    "ContainerCredentialsProvider": (Kind.MACHINE,),
    "WebIdentityTokenFileCredentialsProvider": (Kind.MACHINE,),
    "AnonymousAWSCredentialsProvider": (Kind.NOBODY,),
}
"""Kinds of sources that Hadoop's credential providers use, by the last part of their class names."""


def kinds_of(providers: str) -> tuple[Kind, ...]:
    """Kinds of the providers in `fs.s3a.aws.credentials.provider`; UnsupportedError for an unknown class."""
    kinds: list[Kind] = []
    for text in providers.split(","):
        name = text.strip().rpartition(".")[2]
        if name not in _PROVIDERS:
            hint = f"there are {', '.join(_PROVIDERS)}"
            raise UnsupportedError(f'{settings.S3_CREDENTIALS.key} "{text.strip()}"', hint=hint)
        kinds += _PROVIDERS[name]
    return tuple(kinds)
