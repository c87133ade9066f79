"""Kernels of texts and bytes: checksums, encodings, phonetics, URLs."""

from __future__ import annotations

import base64
import codecs
import hashlib
import re
import zlib
from urllib.parse import unquote

import numpy as np

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.base.settings import DEFAULT_PARTITION_NAME

PIECE = 1 << 20
"""Characters or bytes that are processed between two checks for cancellation."""
_URL_SAFE = str.maketrans("-_", "+/")


def crc32(data: bytes) -> int:
    return zlib.crc32(data)


def sha2(data: bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, data).hexdigest() if name else None


def unbase64(text: str) -> bytes | None:
    """Decode Base64 text: letters, digits, `+` and `/` up to the padding. Other characters are skipped."""
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0].translate(_URL_SAFE))
    usable = kept[: len(kept) - (len(kept) % 4 == 1)]
    return base64.b64decode(usable + "=" * (-len(usable) % 4))


_CHARSETS = {
    "US-ASCII": "ascii",
    "ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16-be",
}
"""Java's names of the character sets that it always supports."""


def _codec(charset: str) -> str:
    codec = _CHARSETS.get(charset.upper())
    if codec is None:
        raise ExecutionError(f'no character set "{charset}"', hint=f"one of {', '.join(_CHARSETS)}", sqlstate="22023")
    return codec


def encode_text(text: str, charset: str) -> bytes:
    """Encode a text, with `?` for unsupported characters. UTF-16 has a byte order mark."""
    encoded = text.encode(_codec(charset), "replace")
    return codecs.BOM_UTF16_BE + encoded if charset.upper() == "UTF-16" else encoded


def decode_bytes(data: bytes, charset: str) -> str:
    """Decode bytes, with U+FFFD for invalid ones. UTF-16 follows its byte order mark, and is big-endian without one."""
    codec = _codec(charset)
    if charset.upper() == "UTF-16" and data[:2] in (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE):
        codec = "utf-16"
    return data.decode(codec, "replace")


_SOUNDEX_CLASSES = ("AEIOUY", "HW", "BFPV", "CGJKQSXZ", "DT", "L", "MN", "R")

_SOUNDEX_LENGTH = 4
_SOUNDEX = {letter: code for code, letters in enumerate(_SOUNDEX_CLASSES) for letter in letters}


def soundex(text: str) -> str:
    """American Soundex. A text that does not begin with a letter is returned unchanged."""
    upper = text.upper()
    if not upper or not "A" <= upper[0] <= "Z":
        return text
    result, last = upper[0], _SOUNDEX[upper[0]]
    for start in range(1, len(upper), PIECE):
        check_cancelled()
        for char in upper[start : start + PIECE]:
            code = _SOUNDEX.get(char, 0)
            if code == 1 and char in "HW":
                continue
            if code > 1 and code != last:
                result += str(code - 1)
                if len(result) == _SOUNDEX_LENGTH:
                    return result
            last = code
    return result.ljust(_SOUNDEX_LENGTH, "0")


def java_hash(text: str) -> int:
    """Hive's hash of a string: 31 * h + byte over its UTF-8 bytes, which are signed, as a 32-bit integer."""
    return _chained(text.encode(), "i1")


def java_string_hash(text: str) -> int:
    """String.hashCode: 31 * h + unit over its UTF-16 units."""
    return _chained(text.encode("utf-16-le"), "<u2")


_HASHED = 1 << 14
_SHORT = 100
_POWERS = np.cumprod(np.r_[np.uint32(1), np.full(_HASHED - 1, 31, np.uint32)], dtype=np.uint32)
"""31 to the power of the index, modulo 2 ** 32."""


def _chained(data: bytes, kind: str) -> int:
    items = np.frombuffer(data, kind)
    value = 0
    if len(items) <= _SHORT:
        for item in items.tolist():
            value = (value * 31 + item) & 0xFFFFFFFF
        items = items[:0]
    for start in range(0, len(items), _HASHED):
        check_cancelled()
        piece = items[start : start + _HASHED].astype(np.int32).view(np.uint32)
        added = int((piece * _POWERS[: len(piece)][::-1]).sum(dtype=np.uint32))
        value = (value * pow(31, len(piece), 1 << 32) + added) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _parameter(query: str, start: str) -> str | None:
    """Return the value of the parameter that starts with `start`, up to the next `&`, or None without one."""
    at = query.find(start)
    while at > 0 and query[at - 1] != "&":
        at = query.find(start, at + 1)
    return None if at < 0 else query[at + len(start) :].partition("&")[0]


PROTOCOLS = ("http", "https", "ftp", "file", "jar", "mailto", "hdfs")
"""Protocols that java.net.URL knows, and the ones that Hadoop adds. Other protocols are invalid."""


def path_value(path: str, name: str) -> str | None:
    """Return the value of the last folder `name=value` in a path, as Hive writes it, or None without one and for Hive's
    default.
    """
    for folder in reversed(path.split("/")[:-1]):
        column, equals, value = folder.partition("=")
        if equals and unquote(column, errors="replace").lower() == name.lower():
            return None if value == DEFAULT_PARTITION_NAME.default else unquote(value, errors="replace")
    return None


def parse_url(url: str, part: str, key: str) -> str | None:
    """Return a part of java.net.URL: HOST PATH QUERY REF PROTOCOL AUTHORITY FILE USERINFO; QUERY with a key."""
    match = re.fullmatch(r"(?s)([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", url)
    if match is None or match.group(1).lower() not in PROTOCOLS:
        return None
    protocol, authority, path, query, ref = match.groups()
    user, _, host = (authority or "").rpartition("@")
    match part:
        case "PROTOCOL":
            return protocol
        case "HOST":
            return re.sub(r":[0-9]*$", "", host) if authority is not None else None
        case "PATH":
            return path
        case "REF":
            return ref
        case "AUTHORITY":
            return authority
        case "USERINFO":
            return user or None
        case "FILE":
            return path if query is None else f"{path}?{query}"
        case "QUERY" if key:
            return _parameter(query or "", f"{key}=")
        case "QUERY":
            return query
    return None
