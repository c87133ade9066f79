"""Uploads in parts: their content, and the removal of unfinished ones, by requests that obstore does not offer.

An upload that is given up ends with an error, so that the store removes its parts. Unfinished uploads are listed in S3,
and in Google Cloud Storage, whose protocol only differs in the signature. Requests are signed by "Create a signed AWS
API request" (AWS Signature Version 4), with the headers below and no body.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request
from xml.etree import ElementTree

from sharkpy.base.errors import CancelledError
from sharkpy.base.records import dataclass
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.storage.requests import http_answer
from sharkpy.sources.storage.store import ObjectFacts

_MOST_PARTS = 9_000
"""Most parts of an upload; S3 allows 10,000."""


class UploadParts:
    """Parts of a file or of another object. The library requests the next one when it has room."""

    def __init__(self) -> None:
        self._is_given_up = False

    def give_up(self) -> None:
        """End the upload at its next part. If it were dropped at once, its parts would stay in the store."""
        self._is_given_up = True

    def of_file(self, content: BinaryIO, part_bytes: int) -> Iterator[bytes]:
        """Parts of a file from its current position."""
        try:
            yield from self.of_reader(content.read, part_bytes)
        except OSError as error:
            raise io_error(error, str(getattr(content, "name", ""))) from None

    def of_reader(self, read: Callable[[int], bytes], part_bytes: int) -> Iterator[bytes]:
        """Parts from `read`, which is called with the largest size of a part, up to an empty one."""
        while True:
            self._check()
            part = read(part_bytes)
            if not part:
                return
            yield part

    async def of_object(
        self, source: ObjectFacts, piece: Callable[[int, int], Coroutine[Any, Any, memoryview]], part_bytes: int
    ) -> AsyncIterator[memoryview]:
        """Parts of an object, each returned by `piece` for a start and an end."""
        for start in range(0, source.size_bytes, part_bytes):
            self._check()
            yield await piece(start, min(start + part_bytes, source.size_bytes))

    def _check(self) -> None:
        if self._is_given_up:
            raise CancelledError("the upload was given up")


def length_of(content: BinaryIO) -> int:
    """Number of bytes of a file from its current position."""
    start = content.tell()
    length = content.seek(0, io.SEEK_END) - start
    content.seek(start)
    return length


def part_of(length: int, part_bytes: int) -> int:
    """Size of a part in bytes: `part_bytes`, or more if there were too many parts otherwise."""
    return max(part_bytes, -(-length // _MOST_PARTS))


Ask = Callable[[str, str, Mapping[str, str]], Request]
"""Makes a request from a method, a key (empty for the bucket) and a query."""
Keys = Callable[[], tuple[str, str, str]]
"""Returns the access key, its secret, and the session token (or an empty text)."""
_ALGORITHM = "AWS4-HMAC-SHA256"
_NO_BODY = hashlib.sha256(b"").hexdigest()
_MOST_BYTES = 16 << 20
_NO_LIST = frozenset({403, 405, 501})
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _UnfinishedUpload:
    key: str
    upload_id: str
    begun_ns: int


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """Bucket whose requests are signed. `address`: its URL, without a slash at the end."""

    address: str
    region: str
    keys: Keys


class UnfinishedUploads:
    """Unfinished uploads of a bucket; `ask` makes the requests."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def remove(self, folder: str, before_ns: int) -> int:
        """Remove the uploads of keys below a folder that began before a time; return their number."""
        found = [one async for one in self._listed(f"{folder}/" if folder else "") if one.begun_ns < before_ns]
        for one in found:
            # 404: it was finished or removed meanwhile.
            await self._asked("DELETE", one.key, {"uploadId": one.upload_id}, frozenset({404}))
        return len(found)

    async def _listed(self, prefix: str) -> AsyncIterator[_UnfinishedUpload]:
        marker: Mapping[str, str] | None = {}
        while marker is not None:
            page = await self._asked("GET", "", {"uploads": "", "prefix": prefix, **marker}, _NO_LIST)
            if page is None:
                return
            uploads, marker = _parsed(page)
            for one in uploads:
                yield one

    async def _asked(self, method: str, key: str, query: Mapping[str, str], expected: frozenset[int]) -> bytes | None:
        """Body of an answer; None for an expected error status."""
        status, content = await asyncio.to_thread(lambda: http_answer(self._ask(method, key, query), _MOST_BYTES))
        if status in expected:
            return None
        if status >= 300:
            # The words that `storage_failure` reads.
            raise OSError(f"status code: {status} {content.decode(errors='replace')}")
        return content


def s3_uploads(bucket: S3Bucket) -> UnfinishedUploads:
    return UnfinishedUploads(lambda method, key, query: signed_request(bucket, method, key, query, datetime.now(UTC)))


def gcs_uploads(address: str, token: Callable[[], str]) -> UnfinishedUploads:
    """Unfinished uploads of the bucket of Google Cloud Storage with the URL `address`."""

    def ask(method: str, key: str, query: Mapping[str, str]) -> Request:
        path = f"{address}/{quote(key)}" if key else address
        headers = {"authorization": f"Bearer {token()}"}
        return Request(f"{path}?{urlencode(query)}", headers=headers, method=method)

    return UnfinishedUploads(ask)


def signed_request(bucket: S3Bucket, method: str, key: str, query: Mapping[str, str], now: datetime) -> Request:
    """Request about an object of a bucket (or the bucket, if `key` is empty), signed for a time in UTC."""
    access_key, secret, token = bucket.keys()
    address = urlsplit(bucket.address)
    path = f"{address.path}/{quote(key)}" if key or not address.path else address.path
    parameters = "&".join(f"{quote(name, safe='')}={quote(query[name], safe='')}" for name in sorted(query))
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": address.netloc, "x-amz-content-sha256": _NO_BODY, "x-amz-date": stamp}
    if token:
        headers["x-amz-security-token"] = token
    names = ";".join(headers)
    lines = [method, path, parameters, *(f"{name}:{value}" for name, value in headers.items()), "", names, _NO_BODY]
    scope = (stamp[:8], bucket.region, "s3", "aws4_request")
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join((_ALGORITHM, stamp, "/".join(scope), digest))
    signing = f"AWS4{secret}".encode()
    for part in scope:
        signing = hmac.digest(signing, part.encode(), "sha256")
    signature = hmac.digest(signing, text.encode(), "sha256").hex()
    credential = f"{access_key}/{'/'.join(scope)}"
    headers["authorization"] = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
    url = f"{address.scheme}://{address.netloc}{path}?{parameters}"
    return Request(url, headers=headers, method=method)


def _parsed(page: bytes) -> tuple[list[_UnfinishedUpload], Mapping[str, str] | None]:
    """Uploads in a page of ListMultipartUploads, and the start of the next page."""
    try:
        root = ElementTree.fromstring(page)
        texts = dict(_texts(root))
        uploads = [_upload(dict(_texts(one))) for one in root if _name(one) == "Upload"]
        if texts.get("IsTruncated") != "true":
            return uploads, None
        return uploads, {"key-marker": texts["NextKeyMarker"], "upload-id-marker": texts["NextUploadIdMarker"]}
    except (ElementTree.ParseError, KeyError) as error:
        raise ConnectionError(f"no list of uploads: {error}") from None


def _upload(texts: Mapping[str, str]) -> _UnfinishedUpload:
    begun = datetime.fromisoformat(texts["Initiated"])
    return _UnfinishedUpload(texts["Key"], texts["UploadId"], int(begun.timestamp()) * _SECOND_NS)


def _texts(node: ElementTree.Element) -> Iterator[tuple[str, str]]:
    return ((_name(child), child.text or "") for child in node)


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]
