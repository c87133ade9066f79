"""Access to storage: the options and keys for one bucket, from the session or from the engine's owner."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from sharkpy.base.errors import ConfigurationError, InternalError, NotAllowedError
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import Secret, fingerprint, names_secret
from sharkpy.base.settings import (
    AZURE_ACCOUNT,
    GS_KEY_FILE,
    METADATA_SERVICE,
    PRIVATE_HOSTS,
    S3_CREDENTIALS,
    Conf,
    find_setting,
    is_address,
)
from sharkpy.base.uri import scheme_of
from sharkpy.sources.storage.setting_sources import SettingSource, SourceKind, kinds_of, owner_sources, session_sources
from sharkpy.sources.storage.storage_settings import KeySet, Option, StorageSettings, storage_settings

GS_KEY = "fs.gs.auth.service.account.key.json"
"""Option with the content of the key file for Google Cloud Storage."""
NO_KEYS = "no keys"
NO_REDIRECTS = "shark.storage.no.redirects"
"""Option of accesses whose requests may only go to the server that is named, or to hosts below its name."""

_MOST_KEY_BYTES = 1 << 20
_FOLLOWING = ("http", "https")
"""Schemes whose servers may redirect requests, except the requests of restricted sessions."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class StorageAccess:
    """Access to one bucket: options and secrets by Hadoop's names, with the values for this bucket.

    1. `id` only tells accesses apart in this process and its workers. `repr` shows no option.
    2. Without keys, either `fs.s3a.aws.credentials.provider` names the anonymous provider, or
       `shark.storage.metadata.service` is "true" and the library asks the machine's cloud. If neither is set, there are
       no keys.
    3. Tasks get it with their stage. It is never stored: in no plan, setting of Spark or file.
    4. If `shark.storage.private.hosts` is set, requests go only to those private addresses that it allows: see
       `HostGuard`.
    """

    id: str
    origin: str = field(compare=False)
    """Origin of the keys, for errors, such as "keys of the environment"."""
    options: tuple[tuple[str, Secret], ...] = field(compare=False, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, Secret], origin: str) -> StorageAccess:
        ordered = tuple(sorted(options.items()))
        return cls(fingerprint(ordered), origin, ordered)

    def value(self, key: str) -> str | None:
        """Text of an option; None if it is not set, and for secrets."""
        found = None if names_secret(key) else self._find(key)
        return None if found is None else found.reveal()

    def secret(self, key: str) -> Secret | None:
        return self._find(key) if names_secret(key) else None

    def _find(self, key: str) -> Secret | None:
        return next((value for name, value in self.options if name == key), None)


class AccessRegistry:
    """Accesses that this process uses, by id. Safe to use from several threads.

    It holds weak references: an access lives as long as a session or a task has it, or another one with its id.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, list[weakref.ref[StorageAccess]]] = {}

    def note(self, accesses: Iterable[StorageAccess]) -> None:
        with self._lock:
            for access in accesses:
                others = [ref for ref in self._known.get(access.id, ()) if ref() is not access]
                self._known[access.id] = [*others, weakref.ref(access)]
            alive = {one: [ref for ref in refs if ref() is not None] for one, refs in self._known.items()}
            self._known = {one: refs for one, refs in alive.items() if refs}

    def find(self, access_id: str) -> StorageAccess:
        for ref in self._known.get(access_id, ()):
            if (found := ref()) is not None:
                return found
        raise InternalError(f"no access {access_id} to storage is known in this process")


ACCESSES = AccessRegistry()


def access_to(
    location: str, session: Conf, owner: Conf, *, is_restricted: bool = False, is_open: bool = True
) -> StorageAccess:
    """Access of a session to the bucket of a URI.

    Each option, and the keys as a whole, come from the first source that has them: the session, the owner of its
    engine, `spark.hadoop.…`, core-site.xml, the environment, the profile of AWS's tools. Options of the bucket come
    before general ones.

    A restricted session uses its own keys, for whatever they open, with only its own options. Without keys it gets the
    owner's access, which ignores the session's settings: a session cannot redirect requests that the owner's keys sign.
    It gets that only if `is_open`: for tables of the catalog, and below the folders that the owner names. Otherwise
    NotAllowedError.
    """
    if not is_restricted:
        sources = owner_sources(owner)
        sources = sources if session is owner else (session_sources(session), *sources)
        return _access(_wanted(location, sources), sources, owner)
    own = session_sources(session, is_restricted=True)
    wanted = _wanted(location, (own,))
    found = _keys(wanted, (own,))
    if found is not None:
        keys, origin = found
        options = _options(wanted, (own,)) | keys
        if _names_hosts(options, wanted, owner):
            options[PRIVATE_HOSTS.key] = Secret(owner.value(PRIVATE_HOSTS))
        return StorageAccess.of(options, origin)
    if not is_open:
        hint = "SET keys of your own for it, such as fs.s3a.access.key and fs.s3a.secret.key"
        hint = hint if wanted.key_sets else "the engine's owner makes a table of it"
        raise NotAllowedError(f'"{location}" is out of this session\'s bounds', hint=hint)
    sources = owner_sources(owner)
    given = _access(_wanted(location, sources), sources, owner)
    if scheme_of(location) not in _FOLLOWING:
        return given
    return StorageAccess.of({**dict(given.options), NO_REDIRECTS: Secret("true")}, given.origin)


def _wanted(location: str, sources: Sequence[SettingSource]) -> StorageSettings:
    """Settings of a location. If the URI of a container names no account, the account comes from a setting."""
    wanted = storage_settings(location)
    account = next((option for option in wanted.options if option.key == AZURE_ACCOUNT.key), None)
    found = None if account is None else _first(account, sources)
    return wanted if found is None else storage_settings(location, found.reveal())


def _names_hosts(given: Mapping[str, Secret], wanted: StorageSettings, owner: Conf) -> bool:
    """True if the session's options name a host that the engine's owner has not set there."""
    sources = owner_sources(owner)
    options = (*wanted.options, *(option for keys in wanted.key_sets for option in (*keys.needed, *keys.more)))
    for option in options:
        if option.key in given and is_address(option.key):
            known = _first(option, sources)
            if known is None or known.reveal() != given[option.key].reveal():
                return True
    return False


def _access(wanted: StorageSettings, sources: Sequence[SettingSource], owner: Conf) -> StorageAccess:
    options = _options(wanted, sources)
    providers = options.pop(S3_CREDENTIALS.key, None)
    for kind in _default_kinds(owner) if providers is None else kinds_of(providers.reveal()):
        if kind is SourceKind.NOBODY and providers is not None:
            return StorageAccess.of(options | {S3_CREDENTIALS.key: providers}, NO_KEYS)
        if kind is SourceKind.MACHINE:
            return StorageAccess.of(options | {METADATA_SERVICE.key: Secret("true")}, "keys of the machine")
        found = _keys(wanted, [source for source in sources if source.kind is kind])
        if found is not None:
            keys, origin = found
            return StorageAccess.of(options | keys, origin)
    return StorageAccess.of(options, NO_KEYS)


def _default_kinds(owner: Conf) -> tuple[SourceKind, ...]:
    kinds = (SourceKind.SETTINGS, SourceKind.ENVIRONMENT, SourceKind.PROFILE)
    return (*kinds, SourceKind.MACHINE) if owner.value(METADATA_SERVICE) else kinds


def _options(wanted: StorageSettings, sources: Sequence[SettingSource]) -> dict[str, Secret]:
    """Options that are set, each from the first source that has it."""
    found = {
        key: value
        for source in reversed(sources)
        for start in wanted.groups
        for key, value in source.group(start).items()
    }
    named = {option.key: _first(option, sources) for option in wanted.options}
    return found | {key: value for key, value in named.items() if value is not None}


def _first(option: Option, sources: Sequence[SettingSource]) -> Secret | None:
    values = (_value(source, option, level) for source in sources for level in range(len(option.names)))
    return next((value for value in values if value is not None), None)


def _keys(wanted: StorageSettings, sources: Sequence[SettingSource]) -> tuple[dict[str, Secret], str] | None:
    """Keys of the first source that has a set of them, and their origin."""
    for source in sources:
        for key_set in wanted.key_sets:
            for level in range(len(key_set.needed[0].names)):
                if keys := _keys_at(source, key_set, level):
                    return keys, source.origin
    return None


def _keys_at(source: SettingSource, key_set: KeySet, level: int) -> dict[str, Secret]:
    """Set of keys of a source, under the names of one level; empty if it has none of the secrets."""
    found = {option: _value(source, option, level) for option in (*key_set.needed, *key_set.more)}
    keys = {option.key: value for option, value in found.items() if value is not None}
    missing = [option for option in key_set.needed if option.key not in keys]
    if not missing:
        return _with_file(keys)
    if known := [option for option in key_set.needed if option.key in keys and names_secret(option.key)]:
        message = f"{known[0].names[level]} is given without {missing[0].names[level]}"
        raise ConfigurationError(message, hint=f"it is among the {source.origin}", sqlstate="28000")
    return {}


def _with_file(keys: dict[str, Secret]) -> dict[str, Secret]:
    """Keys with the content of the key file that one of them names, since tasks on other hosts do not have that file.
    Without the content if the file cannot be read.
    """
    file = keys.get(GS_KEY_FILE.key)
    if file is None:
        return keys
    try:
        with open(file.reveal(), "rb") as content:
            return {**keys, GS_KEY: Secret(content.read(_MOST_KEY_BYTES).decode())}
    except (OSError, ValueError):
        return keys


def _value(source: SettingSource, option: Option, level: int) -> Secret | None:
    """Value that a source has under one of an option's names, in the form of the table of settings."""
    given = source.find(option.names[level])
    text = "" if given is None else given.reveal().strip()
    if not text or names_secret(option.key):
        return Secret(text) if text else None
    setting = find_setting(option.names[-1])
    value = text if setting is None else setting.parse(text)
    return Secret(str(value).lower() if isinstance(value, bool) else str(value))


class OwnerAccesses:
    """Accesses with the settings of the engine's owner, for its own threads. They stay registered as long as this."""

    def __init__(self, conf: Conf) -> None:
        self._conf = conf
        self._held: list[StorageAccess] = []

    def id_of(self, location: str) -> str:
        access = access_to(location, self._conf, self._conf)
        self._held.append(access)
        ACCESSES.note((access,))
        return access.id
