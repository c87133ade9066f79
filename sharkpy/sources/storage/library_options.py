"""Options for libraries that access storage themselves, under the names of the Rust library that they use.

Such a library also reads the environment of the process. All options about hosts and keys are set explicitly, so that
the environment has no effect. HDFS is the exception, as elsewhere in the engine: the environment sets HADOOP_CONF_DIR
and the user's name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.uri import scheme_of
from sharkpy.sources.storage.access import StorageAccess
from sharkpy.sources.storage.buckets import (
    S3_REGION,
    asks_metadata_service,
    azure_keys,
    client_options,
    endpoint_of_s3,
    has_path_style,
    hosts_of,
    is_anonymous,
    keys_of_s3,
    without_keys,
)
from sharkpy.sources.storage.hdfs_store import client_options as hdfs_options
from sharkpy.sources.storage.object_reader import root_and_key
from sharkpy.sources.storage.storage_settings import azure_place
from sharkpy.sources.storage.store import StoreLimits

_MIXED = ("AWS_SESSION_TOKEN", "AWS_TOKEN")
_LIMITS = StoreLimits()
Options = dict[str, str]


def library_options(location: str, access: StorageAccess) -> Options:
    """Options for the bucket of a location. UnsupportedError for storage and keys that libraries do not support.

    Restricted sessions that name hosts are refused: their requests have to be checked one by one, which a library does
    not do.
    """
    make = _KINDS.get(scheme_of(location))
    if make is None:
        raise UnsupportedError(f'a table of this format in storage of the scheme "{scheme_of(location)}"')
    if access.value(settings.PRIVATE_HOSTS.key) is not None:
        message = "a table of this format by keys of a restricted session"
        raise UnsupportedError(message, hint="the engine's owner makes a table of it")
    return make(root_and_key(location)[0].rstrip("/"), access)


def _client(endpoint: str, access: StorageAccess, *others: str) -> Options:
    found = client_options(endpoint, _LIMITS, *hosts_of(endpoint, access, *others))
    texts = {key: _text(value) for key, value in found.items()}
    return {key: value for key, value in texts.items() if value}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    seconds = getattr(value, "total_seconds", None)
    return str(value) if seconds is None else f"{seconds()} seconds"


def _of_s3(root: str, access: StorageAccess) -> Options:
    bucket = root.partition("://")[2]
    region = access.value(settings.S3_REGION.key) or S3_REGION
    endpoint = endpoint_of_s3(region, access)
    is_path_style = has_path_style(bucket, endpoint, access)
    place = urlsplit(endpoint)
    options = _client(endpoint, access) | {
        "aws_region": region,
        "aws_endpoint": endpoint if is_path_style else f"{place.scheme}://{bucket}.{place.netloc}{place.path}",
        "aws_virtual_hosted_style_request": _text(not is_path_style),
        "aws_conditional_put": "etag",
    }
    if is_anonymous(access):
        return options | {"aws_skip_signature": "true"}
    keys = keys_of_s3(access)
    if keys is None:
        if asks_metadata_service(access):
            return options
        raise without_keys(root, f"{settings.S3_ACCESS_KEY.key} and {settings.S3_SECRET_KEY.key}")
    access_key, secret, token = keys()
    options |= {"aws_access_key_id": access_key, "aws_secret_access_key": secret, "aws_skip_signature": "false"}
    if not token and (found := next((name for name in _MIXED if os.environ.get(name)), None)) is not None:
        message = f'keys of "{root}" without a token, beside the token {found} of the environment'
        raise ConfigurationError(message, hint=f"unset {found}", sqlstate="28000")
    return options | ({"aws_session_token": token} if token else {})


def _of_google(root: str, access: StorageAccess) -> Options:
    endpoint = (access.value(settings.GS_ENDPOINT.key) or "https://storage.googleapis.com").rstrip("/")
    options = _client(endpoint, access) | {"google_base_url": endpoint}
    if access.value(settings.GS_AUTHENTICATION.key) == "UNAUTHENTICATED":
        return options | {"google_skip_signature": "true"}
    file = access.value(settings.GS_KEY_FILE.key)
    if file is not None:
        return options | {"google_application_credentials": file}
    if asks_metadata_service(access):
        return options
    if access.secret(settings.GS_ACCESS_TOKEN.key) or access.secret(settings.GS_REFRESH_TOKEN.key):
        hint = f"set {settings.GS_KEY_FILE.key}"
        raise UnsupportedError("a table of this format by a token for Google's storage", hint=hint)
    raise without_keys(root, settings.GS_KEY_FILE.key)


def _of_azure(root: str, access: StorageAccess) -> Options:
    place = azure_place(root.partition("://")[2])
    account = (place.account if place is not None else "") or access.value(settings.AZURE_ACCOUNT.key) or ""
    if place is None or not account:
        raise ConfigurationError(f'there is no account for the container of "{root}"')
    endpoint = access.value(settings.AZURE_ENDPOINT.key) or f"https://{place.host('blob', account)}"
    keys = azure_keys(access)
    if keys is None and not asks_metadata_service(access):
        raise without_keys(root, settings.AZURE_ACCOUNT_KEY.key)
    given = {key: str(value) for key, value in (keys or {}).items() if key != "credential_type"}
    login = urlsplit(given.get("authority_host", "")).hostname
    options = _client(endpoint, access, *([login] if login else []))
    names = {"account_name": account, "endpoint": endpoint, "use_emulator": "false", "skip_signature": "false"}
    return options | {f"azure_{key}": value for key, value in (names | given).items()}


def _of_hdfs(root: str, access: StorageAccess) -> Options:  # noqa: ARG001 - the settings are the same for all locations
    return hdfs_options(access, _LIMITS)


_KINDS: Mapping[str, Callable[[str, StorageAccess], Options]] = {
    "s3": _of_s3,
    "s3a": _of_s3,
    "s3n": _of_s3,
    "gs": _of_google,
    "abfs": _of_azure,
    "abfss": _of_azure,
    "az": _of_azure,
    "hdfs": _of_hdfs,
    "viewfs": _of_hdfs,
}
