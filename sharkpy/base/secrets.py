"""Secrets: texts that no listing, log, error or file shows. `redacted` replaces them by *** in other texts."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator

HIDDEN = "***"
_PROCESS_KEY = os.urandom(32)
_SECRET_KEY = re.compile(
    r"(?:spark\.hadoop\.)?fs\.(?:s3[an]?|gs|azure|adl)\.[\w.-]*?"
    r"(?:secret|token|password|access\.?key|(?<=\.)sas\.|(?:account|encryption|private)\.key(?![a-z]))"
    r"|iceberg\.catalog\.[\w.-]+\.(?:credential|token)"
)


class Secret:
    """Holder of a secret text, printed as ***. Only code that sends the text to its service calls `reveal`;
    `tests/base/test_secrets.py` lists the callers.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, form: str) -> str:
        return format(HIDDEN, form)


def names_secret(key: str) -> bool:
    """Return whether a setting holds a secret: a key, token or password of a file system (Hadoop's names) or of an
    Iceberg catalog (Hive's names).
    """
    return _SECRET_KEY.match(key.lower()) is not None


def fingerprint(secrets: Iterable[tuple[str, Secret]]) -> str:
    """Return an id of named secrets. Equal secrets have equal ids, only within this process, and no id reveals its
    secrets.
    """
    digest = hashlib.blake2b(digest_size=16, key=_PROCESS_KEY)
    for name, secret in secrets:
        for text in (name, secret.reveal()):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def redacted(text: str) -> str:
    """Return `text` with *** for the secrets found in it: values of secret settings and options, users, passwords and
    signatures in URIs, AWS keys.

    The time is linear in the length of the text. The interpreter's lock is held only for short moments.
    """
    if not any(mark in window for _, window in _windows(text) for mark in _MARKS):
        return text
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(_places(text)):
        if start >= end:
            pieces += (text[end:start], HIDDEN)
        end = max(end, stop)
    return "".join((*pieces, text[end:]))


_WINDOW = 1 << 18
"""Characters that are searched at a time."""
_LONGEST = 1 << 16
"""Most characters of a secret and the text before it."""
_LONGEST_MARK = 24


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """Yield parts of a text in lower case, with their starts. A mark that begins in a part is whole in it."""
    for start in range(0, len(text), _WINDOW):
        yield start, _lowered(text[start : start + _WINDOW + _LONGEST_MARK])


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret, form by form."""
    windows = list(_windows(text))
    for mark, match in _FORMS:
        end = 0
        for start, window in windows:
            place = window.find(mark, max(0, end - start))
            while place >= 0:
                found = match(text, start + place, start + place + _LONGEST)
                if found is None:
                    end = start + place + len(mark)
                else:
                    end = max(found.end(), start + place + len(mark))
                    if found.lastindex is not None and found[found.lastindex]:
                        yield found.span(found.lastindex)
                place = window.find(mark, end - start)


def _lowered(text: str) -> str:
    """Lower-case the text without changing its length: lower() would turn İ into two characters."""
    return text.replace("\u0130", "i").lower()


_KEY = re.compile(r"[\w.-]++")
# A key in quotes has one value. Any other key takes the rest of the statement as its value.
_VALUE = re.compile(
    r"""
      \s{0,99}+[=:]\s{0,99}+
      ((?:[^;'"\\]++|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+"|\\.|['"\\])++)
    | ['"`]\s{0,99}+[=:,]\s{0,99}+
      (?:'([^'\\]*+(?:\\.[^'\\]*+)*+)|"([^"\\]*+(?:\\.[^"\\]*+)*+)|([^\s'",;)\]}]++))
    """,
    re.VERBOSE | re.DOTALL,
)
# An Azure container is at the place of a user in other URIs. Digits after a colon are a port.
_USERINFO = re.compile(
    r"""
      (?<!abfs)(?<!abfss)(?<!wasb)(?<!wasbs)://([^\s/?#@'"`<>\[\]{}]{1,512}+)@
    | ://([^\s/?#@:'"`<>\[\]{}]{0,256}+:(?!\d{1,5}+(?:[/?#\s'"`]|\Z))[^\s@'"`<>\[\]{}]{1,512}+)@
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SIGNED = re.compile(
    r"(?<=[?&-])(?:sig|signature|security-token|credential|awsaccesskeyid)=([^\s&'\"`;,<>]++)", re.IGNORECASE
)
_AWS_KEY = re.compile(
    r"(?<![A-Za-z0-9])((?:AKIA|ASIA)[A-Z0-9]{16}+(?![A-Za-z0-9])(?:[^A-Za-z0-9/+=]{1,4}+[A-Za-z0-9/+]{40}+(?![\w/+=]))?)"
)
_NAMED = re.compile(
    r"""
    (?:secret_?access_?key|session_?token|account_?key|storage_key)
    (?:['"`]?\s{0,99}+[=:]\s{0,99}+|>)['"]?([^\s'"`;,&<>)\]}]++)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OPTION = re.compile(
    r"""
    (?:password|key\.pem)['"`]?\s{0,99}+==?\s{0,99}+
    (?:'([^'\\]*+(?:\\.[^'\\]*+)*+)|"([^"\\]*+(?:\\.[^"\\]*+)*+))
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def _setting(text: str, start: int, stop: int) -> re.Match[str] | None:
    """Match the key of a file system's setting, with its value as the last group if it is a secret."""
    key = _KEY.match(text, start, stop)
    return key if key is None or not names_secret(key[0]) else _VALUE.match(text, key.end(), stop) or key


_FORMS: tuple[tuple[str, Callable[[str, int, int], re.Match[str] | None]], ...] = (
    ("fs.", _setting),
    ("iceberg.catalog.", _setting),
    ("://", _USERINFO.match),
    ("sig=", _SIGNED.match),
    ("signature=", _SIGNED.match),
    ("security-token=", _SIGNED.match),
    ("credential=", _SIGNED.match),
    ("awsaccesskeyid=", _SIGNED.match),
    ("akia", _AWS_KEY.match),
    ("asia", _AWS_KEY.match),
    ("secret_access_key", _NAMED.match),
    ("secretaccesskey", _NAMED.match),
    ("session_token", _NAMED.match),
    ("sessiontoken", _NAMED.match),
    ("account_key", _NAMED.match),
    ("accountkey", _NAMED.match),
    ("storage_key", _NAMED.match),
    ("password", _OPTION.match),
    ("key.pem", _OPTION.match),
)
"""Lower-case words before a secret, each with the matcher from there on. Its last group is the secret."""
_MARKS = tuple(mark for mark, _ in _FORMS)
