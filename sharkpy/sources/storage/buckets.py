"""Stores of buckets for the accesses of sessions: S3, Google Cloud Storage, Azure, and HTTP servers.

obstore also reads the environment of the process. Options that are set here take precedence.

A server that answers with a redirect could send requests to places that sessions must not reach, such as the service
that gives the machine its own keys. obstore follows redirects. So all hosts other than the storage's are sent to a
proxy that does not exist. If the environment names proxies, these are used instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sharkpy.base import settings
from sharkpy.base.endpoint import check_endpoint
from sharkpy.base.errors import ConfigurationError, StorageRefusedError
from sharkpy.base.uri import redacted
from sharkpy.sources.storage.access import NO_KEYS, NO_REDIRECTS, StorageAccess
from sharkpy.sources.storage.bucket_store import BucketStore
from sharkpy.sources.storage.errors import StoreName
from sharkpy.sources.storage.google_keys import google_tokens, no_tokens
from sharkpy.sources.storage.object_reader import HostGuard, HttpStore
from sharkpy.sources.storage.storage_settings import azure_place
from sharkpy.sources.storage.store import Store, StoreLimits, StoreTraits
from sharkpy.sources.storage.uploads import Keys, S3Bucket, gcs_uploads, s3_uploads

if TYPE_CHECKING:
    from obstore.store import (
        AzureConfig,
        ClientConfig,
        GCSConfig,
        RetryConfig,
        S3Config,
        S3Credential,
        S3CredentialProvider,
    )

S3_REGION = "us-east-1"
"""Region of S3 if none is set."""
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_CONNECT_SECONDS = 5.0
NO_PROXY = "redirect.invalid"
"""Host of the proxy that does not exist: no name server resolves names with this ending."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_SORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=True)
_UNSORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=False)
"""Servers that keep objects in folders list them folder by folder: `a/b` before `a-c`."""


def s3_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Store of `s3://bucket`, of Amazon or of another server that speaks S3 (`fs.s3a.endpoint`)."""
    from obstore.store import S3Store

    bucket = _authority(root)
    region = access.value(settings.S3_REGION.key) or S3_REGION
    endpoint = endpoint_of_s3(region, access)
    is_path_style = has_path_style(bucket, endpoint, access)
    place = urlsplit(endpoint)
    address = f"{endpoint}/{bucket}" if is_path_style else f"{place.scheme}://{bucket}.{place.netloc}{place.path}"
    keys = keys_of_s3(access)
    is_open = is_anonymous(access)
    if keys is None and not is_open and not asks_metadata_service(access):
        raise without_keys(root, f"{settings.S3_ACCESS_KEY.key} and {settings.S3_SECRET_KEY.key}")
    config: S3Config = {
        "region": region,
        "aws_endpoint_url_s3": endpoint if is_path_style else address,
        "virtual_hosted_style_request": not is_path_style,
        "skip_signature": is_open,
        "disable_bulk_delete": access.value(settings.S3_BULK_DELETE.key) == "false",
    }
    client = S3Store(
        bucket,
        config=config,
        client_options=client_options(address, limits, *hosts_of(endpoint, access)),
        retry_config=_retries(limits),
        credential_provider=None if keys is None or is_open else _provider(keys),
    )
    is_sorted = _is_amazon(endpoint) and not bucket.endswith("--x-s3")
    uploads = s3_uploads(S3Bucket(address, region, keys)) if keys is not None else None
    name = StoreName(bucket, redacted(endpoint), access.origin)
    return BucketStore(client, name, limits, _SORTED if is_sorted else _UNSORTED, uploads, _guard(access, address))


def gcs_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Store of `gs://bucket`, of Google Cloud Storage."""
    from obstore.store import GCSStore

    bucket = _authority(root)
    endpoint = (access.value(settings.GS_ENDPOINT.key) or "https://storage.googleapis.com").rstrip("/")
    is_anonymous = access.value(settings.GS_AUTHENTICATION.key) == "UNAUTHENTICATED"
    tokens = no_tokens if is_anonymous else google_tokens(access)
    if tokens is None and not asks_metadata_service(access):
        raise without_keys(root, settings.GS_KEY_FILE.key)
    config: GCSConfig = {"base_url": endpoint, "skip_signature": is_anonymous}
    options = client_options(endpoint, limits, *hosts_of(endpoint, access))
    with _with_login_errors("the environment names keys for Google's storage that are none"):
        client = GCSStore(
            bucket, config=config, client_options=options, retry_config=_retries(limits), credential_provider=tokens
        )
    name = StoreName(bucket, redacted(endpoint), access.origin)
    uploads = gcs_uploads(f"{endpoint}/{bucket}", lambda: tokens()["token"]) if tokens is not None else None
    is_sorted = _is_of(endpoint, "googleapis.com")
    return BucketStore(client, name, limits, _SORTED if is_sorted else _UNSORTED, uploads, _guard(access, endpoint))


def azure_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Azure store of `abfss://container@account.dfs.core.windows.net`. Without a host, a setting names the account."""
    from obstore.store import AzureStore

    place = azure_place(_authority(root))
    account = (place.account if place is not None else "") or access.value(settings.AZURE_ACCOUNT.key) or ""
    if place is None or not account:
        message = f'there is no account for the container "{_authority(root)}"'
        raise ConfigurationError(message, hint=f"name it: abfss://{_authority(root)}@<account>.dfs.core.windows.net")
    endpoint = access.value(settings.AZURE_ENDPOINT.key) or f"https://{place.host('blob', account)}"
    keys = azure_keys(access)
    if keys is None and not asks_metadata_service(access):
        suffix = f".{place.host('dfs')}" if place.account else ""
        raise without_keys(root, f"{settings.AZURE_ACCOUNT_KEY.key}{suffix}")
    config: AzureConfig = {
        "account_name": account,
        "endpoint": endpoint,
        "use_emulator": False,
        "skip_signature": False,
        **(keys or {}),
    }
    login_url = config.get("authority_host") or ""
    login = urlsplit(login_url).hostname
    options = client_options(endpoint, limits, *hosts_of(endpoint, access, *([login] if login else [])))
    with _with_login_errors(f"the key of the account {account} is none of Azure's"):
        client = AzureStore(place.container, config=config, client_options=options, retry_config=_retries(limits))
    # A container with a hierarchical namespace is listed folder by folder.
    name = StoreName(place.container, redacted(endpoint), access.origin)
    return BucketStore(client, name, limits, _UNSORTED, guard=_guard(access, endpoint, login_url))


def http_store(root: str, access: StorageAccess, limits: StoreLimits) -> Store:
    """Store of the files of `https://host`, without keys. Requests of restricted sessions do not follow redirects.

    ConfigurationError for an invalid host, and for the service that gives the machine its own keys.
    """
    from obstore.store import HTTPStore

    check_endpoint(root)
    hosts = hosts_of(root, access) if access.value(NO_REDIRECTS) else ()
    client = HTTPStore(root, client_options=client_options(root, limits, *hosts), retry_config=_retries(limits))
    return HttpStore(client, StoreName(_authority(root), root, NO_KEYS), limits)


@contextmanager
def _with_login_errors(message: str) -> Iterator[None]:
    """Raise ConfigurationError 28000 with `message` if a client cannot be made: only its keys can be wrong."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, ValueError, OSError):
        raise ConfigurationError(message, sqlstate="28000") from None


def _authority(root: str) -> str:
    return root.partition("://")[2]


def endpoint_of_s3(region: str, access: StorageAccess) -> str:
    """URL of the server, without a slash at the end."""
    endpoint = (access.value(settings.S3_ENDPOINT.key) or "").rstrip("/")
    scheme = "http" if access.value(settings.S3_TLS.key) == "false" else "https"
    if not endpoint or endpoint == "s3.amazonaws.com":
        endpoint = f"s3.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    return endpoint if "://" in endpoint else f"{scheme}://{endpoint}"


def has_path_style(bucket: str, endpoint: str, access: StorageAccess) -> bool:
    """True if the bucket's name is part of the path. Amazon's certificates do not match buckets with dots."""
    value = access.value(settings.S3_PATH_STYLE.key)
    if value is not None:
        return value == "true"
    return not _is_amazon(endpoint) or "." in bucket


def _is_amazon(endpoint: str) -> bool:
    return _is_of(endpoint, "amazonaws.com") or _is_of(endpoint, "amazonaws.com.cn")


def _is_of(endpoint: str, domain: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    return host == domain or host.endswith(f".{domain}")


def keys_of_s3(access: StorageAccess) -> Keys | None:
    access_key, secret = access.secret(settings.S3_ACCESS_KEY.key), access.secret(settings.S3_SECRET_KEY.key)
    token = access.secret(settings.S3_SESSION_TOKEN.key)
    if access_key is None or secret is None:
        return None
    return lambda: (access_key.reveal(), secret.reveal(), "" if token is None else token.reveal())


def _provider(keys: Keys) -> S3CredentialProvider:
    """Provider of the keys for obstore, so that it uses none from the environment."""

    def credential() -> S3Credential:
        access_key, secret, token = keys()
        return {"access_key_id": access_key, "secret_access_key": secret, "token": token or None, "expires_at": None}

    return credential


def is_anonymous(access: StorageAccess) -> bool:
    """True if requests to S3 are sent without keys."""
    return _ANONYMOUS in (access.value(settings.S3_CREDENTIALS.key) or "")


def asks_metadata_service(access: StorageAccess) -> bool:
    """True if the machine's cloud provides the keys. Elsewhere, asking for them would take seconds."""
    return access.value(settings.METADATA_SERVICE.key) == "true"


def without_keys(location: str, names: str) -> StorageRefusedError:
    hint = f"SET {names}, or have them in core-site.xml or in the environment"
    return StorageRefusedError(f'there are no keys for "{location}"', hint=hint, sqlstate="28000")


def hosts_of(endpoint: str, access: StorageAccess, *others: str) -> Sequence[str]:
    """Hosts that requests may go to: that of `endpoint`, and `others` that provide keys for it. Empty, for any host, if
    the machine's cloud provides the keys: only the cloud knows at which host.
    """
    host = urlsplit(endpoint).hostname
    return () if host is None or asks_metadata_service(access) else (host, *others)


def _guard(access: StorageAccess, *urls: str) -> HostGuard | None:
    """Guard of the hosts of URLs, for restricted sessions that name hosts of their own."""
    allowed = access.value(settings.PRIVATE_HOSTS.key)
    hosts = tuple(host for url in urls if (host := urlsplit(url).hostname))
    return None if allowed is None else HostGuard(hosts, allowed)


def client_options(endpoint: str, limits: StoreLimits, *hosts: str) -> ClientConfig:
    """Options of a client for requests to `endpoint`. If `hosts` are given, it reaches only these and hosts below their
    names.
    """
    seconds = limits.timeout_seconds
    options: ClientConfig = {
        "allow_http": endpoint.lower().startswith("http:"),
        "timeout": timedelta(seconds=seconds),
        "connect_timeout": timedelta(seconds=min(_CONNECT_SECONDS, seconds)),
        "read_timeout": timedelta(seconds=seconds / 2),
    }
    if hosts and not any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES):
        options["proxy_url"] = f"http://{NO_PROXY}"
        options["proxy_excludes"] = ",".join(hosts)
    return options


def _retries(limits: StoreLimits) -> RetryConfig:
    """Retries, after waits that grow from a tenth of a second up to 15 seconds."""
    return {"max_retries": limits.retries, "retry_timeout": timedelta(seconds=limits.timeout_seconds)}


def azure_keys(access: StorageAccess) -> AzureConfig | None:
    """Account key, signature or client login; None if the access has none of them."""
    if (key := access.secret(settings.AZURE_ACCOUNT_KEY.key)) is not None:
        return {"account_key": key.reveal(), "credential_type": "access_key"}
    if (signature := access.secret(settings.AZURE_SAS.key)) is not None:
        return {"sas_key": signature.reveal(), "credential_type": "sas_token"}
    client = access.value(settings.AZURE_CLIENT_ID.key)
    secret = access.secret(settings.AZURE_CLIENT_SECRET.key)
    login = access.value(settings.AZURE_CLIENT_ENDPOINT.key)
    if not client or secret is None or not login:
        return None
    place = urlsplit(login)
    return {
        "client_id": client,
        "client_secret": secret.reveal(),
        "tenant_id": place.path.strip("/").partition("/")[0],
        "authority_host": f"{place.scheme}://{place.netloc}",
        "credential_type": "client_secret",
    }
