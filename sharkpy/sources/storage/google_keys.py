"""Tokens for Google Cloud Storage from the keys of a session. google-auth gets them from the service that a key file
names.

obstore is not used for that: it would prefer the environment's keys, and would send logins to hosts that are not
allowed.
"""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.request import Request

from sharkpy.base import settings
from sharkpy.base.errors import ConfigurationError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.sources.storage.access import GS_KEY, StorageAccess
from sharkpy.sources.storage.errors import NO_LOGIN, NO_TOKEN
from sharkpy.sources.storage.requests import http_answer

if TYPE_CHECKING:
    from google.auth.credentials import Credentials
    from obstore.store import GCSCredential

Tokens = Callable[[], "GCSCredential"]
"""Returns a token and its expiration time. OSError with the words that `storage_failure` reads if there is no token."""
_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_TOKEN_URI = "https://oauth2.googleapis.com/token"
_SPARE = timedelta(minutes=4)
"""A token is replaced this long before it expires."""
_MOST_BYTES = 1 << 20


def google_tokens(access: StorageAccess) -> Tokens | None:
    """Tokens for the keys of an access; None if it has none.

    ConfigurationError 28000 for a file that holds no keys, UnsupportedError for keys of another kind.
    """
    token = access.secret(settings.GS_ACCESS_TOKEN.key)
    if token is not None:
        return lambda: {"token": token.reveal(), "expires_at": None}
    if access.value(settings.GS_KEY_FILE.key):
        content = access.secret(GS_KEY)
        return _Refreshed(_of_content("" if content is None else content.reveal()))
    secret, refresh = access.secret(settings.GS_CLIENT_SECRET.key), access.secret(settings.GS_REFRESH_TOKEN.key)
    if secret is None or refresh is None:
        return None
    told = {"client_secret": secret.reveal(), "refresh_token": refresh.reveal()}
    return _Refreshed(_of_user({"client_id": access.value(settings.GS_CLIENT_ID.key), **told}))


def no_tokens() -> GCSCredential:
    """Token of requests without keys: obstore asks for one when it writes."""
    return {"token": "", "expires_at": None}


class _Refreshed:
    """Tokens of credentials, each cached until shortly before it expires. Safe to use from several threads."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._lock = threading.Lock()

    def __call__(self) -> GCSCredential:
        with self._lock:
            ends = self._ends()
            if self._credentials.token is None or ends is None or ends - _SPARE < datetime.now(UTC):
                _log_in(self._credentials)
            return {"token": str(self._credentials.token), "expires_at": self._ends()}

    def _ends(self) -> datetime | None:
        ends: datetime | None = self._credentials.expiry
        return None if ends is None else ends.replace(tzinfo=UTC)


def _log_in(credentials: Credentials) -> None:
    from google.auth.exceptions import GoogleAuthError, TransportError

    try:
        credentials.refresh(_asked)  # type: ignore[no-untyped-call]
    except TransportError:
        raise OSError(NO_LOGIN) from None
    except (GoogleAuthError, ValueError):
        raise OSError(NO_TOKEN) from None


class _Answer:
    """Answer in the form that google-auth reads."""

    def __init__(self, status: int, data: bytes) -> None:
        self.status = status
        self.data = data
        self.headers: Mapping[str, str] = {}


def _asked(
    url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None, **_: object
) -> _Answer:
    """Carry out a request of google-auth, with limits on time and bytes, and without redirects."""
    from google.auth.exceptions import TransportError

    try:
        return _Answer(*http_answer(Request(url, data=body, headers=dict(headers or {}), method=method), _MOST_BYTES))
    except (OSError, ValueError) as error:
        raise TransportError(type(error).__name__) from None  # type: ignore[no-untyped-call]


def _of_content(content: str) -> Credentials:
    """Credentials from the content of a key file, by their type."""
    _check_library()
    named = f"{settings.GS_KEY_FILE.key} names no file with the key of a service account"
    try:
        check_json_nesting(content)
        info = json.loads(content)
        kind = info["type"]
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(named, sqlstate="28000") from None
    if kind not in _KINDS:
        hint = f"there are {', '.join(_KINDS)}"
        raise UnsupportedError(f'{settings.GS_KEY_FILE.key} with credentials of the type "{kind}"', hint=hint)
    from google.auth.exceptions import GoogleAuthError

    try:
        return _KINDS[kind](info)
    except (GoogleAuthError, ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(named, sqlstate="28000") from None


def _of_service_account(info: Mapping[str, Any]) -> Credentials:
    from google.oauth2.service_account import Credentials as ServiceAccount

    return ServiceAccount.from_service_account_info(info, scopes=[_SCOPE])  # type: ignore[no-untyped-call,no-any-return]


def _of_user(info: Mapping[str, Any]) -> Credentials:
    _check_library()
    from google.oauth2.credentials import Credentials as User

    return User(  # type: ignore[no-untyped-call]
        None,
        refresh_token=info["refresh_token"],
        token_uri=info.get("token_uri", _TOKEN_URI),
        client_id=info["client_id"],
        client_secret=info["client_secret"],
    )


def _of_workload(info: Mapping[str, Any]) -> Credentials:
    from google.auth.identity_pool import Credentials as Workload

    return Workload.from_info(info, scopes=[_SCOPE])  # type: ignore[no-untyped-call,no-any-return]


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Credentials]] = {
    "service_account": _of_service_account,
    "authorized_user": _of_user,
    "external_account": _of_workload,
}


def _check_library() -> None:
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.auth") is None:
        message = "keys of Google's storage need google-auth, which is not installed"
        raise ConfigurationError(message, hint='run: pip install "sharkpy[lake-gs]"')
