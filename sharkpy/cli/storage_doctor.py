"""`sharkpy doctor <uri>`: check whether files can be listed, read and written there, or find the wrong setting.

The checks of a warehouse at a URI are these, and one of its owner.
"""

from __future__ import annotations

import sqlite3
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from sharkpy.base import settings, uri
from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import TAKE_OVER, Conf
from sharkpy.base.version import __version__
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.session.defaults import catalog_home
from sharkpy.session.remote_storage import writable_store
from sharkpy.sources.storage.access import StorageAccess, access_to
from sharkpy.sources.storage.store import ObjectFacts, Store, StoreLimits
from sharkpy.sources.storage.stores import is_supported, store_of

LIMITS = StoreLimits(timeout_seconds=10, retries=1)
"""Limits under which a failure is reported quickly."""
_LISTED = 1000
_KINDS = {"gs": "gs", **dict.fromkeys(("abfs", "abfss", "az", "wasb", "wasbs"), "az")}
"""Clouds by scheme; any other scheme is treated as S3."""
_RIGHTS = {
    "s3": {"list": "s3:ListBucket", "read": "s3:GetObject", "write": "s3:PutObject and s3:DeleteObject"},
    "gs": {
        "list": "storage.objects.list",
        "read": "storage.objects.get",
        "write": "storage.objects.create and storage.objects.delete",
    },
    "az": {
        "list": "the role Storage Blob Data Reader, or a signature with l",
        "read": "the role Storage Blob Data Reader, or a signature with r",
        "write": "the role Storage Blob Data Contributor, or a signature with c, w and d",
    },
}
"""Rights that a step needs, by cloud."""
_SAME_IN = {
    "s3": (settings.S3_ENDPOINT.key, f"{settings.S3_ACCESS_KEY.key} and {settings.S3_SECRET_KEY.key}"),
    "gs": (settings.GS_ENDPOINT.key, settings.GS_KEY_FILE.key),
    "az": (settings.AZURE_ENDPOINT.key, settings.AZURE_ACCOUNT_KEY.key),
}
"""Settings of the endpoint, and of the keys, by cloud."""


@dataclass(frozen=True, slots=True)
class _Advice:
    """Sentence for failures with an SQLSTATE and with some words in the message or hint, if `key` is set to `value`."""

    sqlstate: str
    words: str
    text: str
    key: str = ""
    value: str = ""


_ADVICE = (
    _Advice("08001", "gives tokens", "who gives tokens for the keys does not answer: correct where that is ({origin})"),
    _Advice("28000", "gives no token", "the keys get no token, for they are wrong or have ended ({origin})"),
    _Advice("08001", "nobody listens", "no server listens at {endpoint}: correct the host or the port in {setting}"),
    _Advice(
        "08001",
        "host is not known",
        "there is no host {bucket}.{host}: SET fs.s3a.path.style.access=true, for a server that has one name alone",
        settings.S3_PATH_STYLE.key,
        "false",
    ),
    _Advice("08001", "host is not known", "nobody knows the host of {endpoint}: correct it in {setting}"),
    _Advice(
        "08001", "for another name", "the certificate of {endpoint} is for another name: correct the host in {setting}"
    ),
    _Advice(
        "08001",
        "not trusted",
        "nobody that this machine trusts has signed the certificate of {endpoint}: let SSL_CERT_FILE name the file of "
        "who has",
    ),
    _Advice("08001", "does not speak TLS", "{endpoint} does not speak TLS: write http:// before the host in {setting}"),
    _Advice("08001", "", "{endpoint} cannot be reached: correct the host or the port in {setting}"),
    _Advice(
        "08006",
        "",
        "{endpoint} breaks the connection off: where it speaks TLS, write https:// before the host in {setting}",
    ),
    _Advice(
        "28000",
        "does not know the key",
        "{endpoint} does not know the key: correct fs.s3a.access.key ({origin})",
    ),
    _Advice(
        "28000",
        "secret does not belong",
        "the secret is not that of the key: correct fs.s3a.secret.key ({origin})",
    ),
    _Advice("28000", "has expired", "the session token has expired: get new keys with another one ({origin})"),
    _Advice("28000", "clock is wrong", "the clock of this machine is wrong: {endpoint} takes signatures of now alone"),
    _Advice("28000", "does not accept no keys", "{endpoint} wants keys: SET {keys}"),
    _Advice("28000", "does not accept", "{endpoint} does not accept the keys: correct {keys} ({origin})"),
    _Advice("42501", "", "the keys open no {step} there: let their owner have {right} on {bucket} ({origin})"),
    _Advice("58P01", "there is no bucket", "there is no bucket {bucket} at {endpoint}: correct the URI, or {setting}"),
    _Advice("57P03", "", "{endpoint} is too busy: ask again later"),
    _Advice(
        "58030", "cannot be read", "{endpoint} answers, but as no such storage does: correct the port in {setting}"
    ),
    _Advice(
        "0A000",
        "gives only whole files",
        "{endpoint} gives whole files where parts are asked for: correct the port in {setting}, or move the files",
    ),
)


class _Wrong(Exception):
    """Fault that a check has found although no request failed."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Location under check, with its access and its store."""

    location: str
    access: StorageAccess
    store: Store

    def sentence(self, step: str, error: SharkError) -> str:
        """Return a sentence that says what is wrong, and what to do about it."""
        told = f"{error.message} {error.hint or ''}"
        for advice in _ADVICE:
            is_met = not advice.key or self.access.value(advice.key) == advice.value
            if advice.sqlstate == error.sqlstate and advice.words in told and is_met:
                return advice.text.format_map({**self._facts(), "step": step, "right": self._right(step)})
        return f"{error.message}; {error.hint}" if error.hint else error.message

    @property
    def _cloud(self) -> str:
        scheme = uri.scheme_of(uri.normalized(self.location))
        return _KINDS.get(scheme, scheme)

    def _right(self, step: str) -> str:
        return _RIGHTS.get(self._cloud, _RIGHTS["s3"])[step]

    def _facts(self) -> Mapping[str, str]:
        name = self.store.name
        setting, keys = _SAME_IN.get(self._cloud, ("the URI", "the URI"))
        return {
            "bucket": name.bucket,
            "endpoint": name.endpoint,
            "host": urlsplit(name.endpoint).netloc,
            "origin": name.access,
            "setting": setting,
            "keys": keys,
        }


def run_storage_doctor(location: str, given: Mapping[str, str], *, writes: bool) -> int:
    """Print one line per step. Return 1 at the first step that fails. If `writes`, put a small object there and delete
    it.
    """
    sys.stdout.write(f"sharkpy {__version__}\n")
    is_well = True
    for is_well, step, text in storage_checks(location, Conf(given), writes=writes):
        sys.stdout.write(f"{'ok  ' if is_well else 'FAIL'} {step:<16} {text}\n")
    return 0 if is_well else 1


def storage_checks(location: str, conf: Conf, *, writes: bool) -> Iterator[tuple[bool, str, str]]:
    """Yield the steps of the check up to the first failure: whether it succeeded, its name, and its finding."""
    try:
        place = _found(location, conf)
    except SharkError as error:
        yield False, "address", f"{error.message}; {error.hint}" if error.hint else error.message
        return
    yield True, "address", f"{place.store.name.bucket} at {place.store.name.endpoint}"
    yield True, "keys", place.access.origin
    facts: list[ObjectFacts] = []
    for step, check in (("list", _list), ("read", _read), *([("write", _write)] if writes else [])):
        try:
            text = check(place, facts)
        except _Wrong as error:
            yield False, step, str(error)
            return
        except SharkError as error:
            yield False, step, place.sentence(step, error)
            return
        yield True, step, text


def _found(location: str, conf: Conf) -> _Place:
    uri.check_no_secrets(location)
    if not uri.is_remote(location) or not is_supported(location):
        message = f'"{uri.redacted(location)}" is no address of storage'
        raise UnsupportedError(message, hint="such as s3://bucket/folder, gs://, abfss://, hdfs:// or https://")
    access = access_to(location, conf, conf)
    return _Place(location.rstrip("/"), access, store_of(location, access, LIMITS))


def _list(place: _Place, facts: list[ObjectFacts]) -> str:
    """Look for the first objects. If there are none, or the store cannot list, look for a file at the location."""
    store, location = place.store, place.location
    if store.traits.lists:
        for one in store.list(location):
            facts.append(one)
            if len(facts) == _LISTED:
                return f"{_LISTED} objects, and perhaps more, below it"
        if facts:
            return f"{len(facts)} objects below it"
    found = store.stat(location)
    if found is not None:
        facts.append(found)
        return f"a file of {found.size_bytes:,} bytes"
    if not store.traits.lists:
        raise _Wrong(f"there is no file at {uri.redacted(location)}: correct the URI")
    return "nothing is there yet"


def _read(place: _Place, facts: list[ObjectFacts]) -> str:
    one = next((one for one in facts if one.size_bytes > 1), None)
    if one is None:
        return "there is no file to read"
    (part,) = place.store.read(one, [(1, 2)])
    return f"{len(part)} of {one.size_bytes:,} bytes of {uri.name_of(one.path)}"


def _write(place: _Place, facts: list[ObjectFacts]) -> str:  # noqa: ARG001  as of all steps
    """Put an object, then try to put another one of the same name, which the store has to refuse."""
    store, path = place.store, uri.join(place.location, f".sharkpy-doctor-{uuid.uuid4().hex}")
    if not store.traits.writes:
        raise _Wrong(f"{store.name.endpoint} takes no files: tables there are read alone")
    try:
        is_put, is_put_again = store.put_new(path, b"1"), store.put_new(path, b"2")
    finally:
        store.delete([path])
    if not is_put or is_put_again:
        message = f"{store.name.endpoint} puts an object in the place of another one, though it is asked not to"
        raise _Wrong(f"{message}: write no tables there, for two writers could lose rows")
    return "an object was put, not put twice, and deleted"


def warehouse_checks(location: str, conf: Conf) -> Iterator[tuple[bool, str, str]]:
    """Yield the steps of the check up to the first failure: whether it succeeded, its name, and its finding."""
    for step in storage_checks(location, conf, writes=True):
        yield step
        if not step[0]:
            return
    try:
        is_well, text = _claim(location, conf)
    except SharkError as error:
        is_well, text = False, f"{error.message}; {error.hint}" if error.hint else error.message
    yield is_well, "claim", text


def _claim(location: str, conf: Conf) -> tuple[bool, str]:
    from sharkpy.sources.storage.warehouse_claims import WarehouseClaims

    newest = WarehouseClaims(writable_store(location, conf), location).newest()
    owner, is_known = _owner(Path(catalog_home(location, conf), CATALOG_FILE))
    if newest is None and not is_known:
        return True, "nobody's yet: the first session takes the warehouse"
    if newest is None:
        return False, "nothing tells that it is this catalog's, as it did before: correct the URI or the endpoint"
    if newest.owner == owner:
        return True, f"the warehouse is this catalog's since {newest.made_at}"
    text = f'the warehouse belongs to the catalog at {newest.place} (user "{newest.user}", since {newest.made_at}): '
    return False, f"{text}open it with that one, or take it over: {TAKE_OVER.key}={newest.owner}"


def _owner(path: Path) -> tuple[str, bool]:
    """Return the catalog's own owner id, as far as its file shows it, and whether it has claimed its warehouse
    before.
    """
    if not path.exists():
        return "", False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            row = file.execute("SELECT owner, is_known FROM owner_").fetchone()
    except sqlite3.Error:
        row = None
    return ("", False) if row is None else (str(row[0]), bool(row[1]))
