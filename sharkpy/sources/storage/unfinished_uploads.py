"""Unfinished uploads in parts, listed and removed by requests that obstore does not offer.

They work for S3, and for Google Cloud Storage, whose protocol only differs in the signature. Requests are signed by
"Create a signed AWS API request" (AWS Signature Version 4), with the headers below and no body.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request
from xml.etree import ElementTree

from sharkpy.sources.storage.plain_http import answered

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
class _Upload:
    key: str
    upload_id: str
    begun_ns: int


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """Bucket whose requests are signed. `address`: its URL, without a slash at the end."""

    address: str
    region: str
    keys: Keys


class Uploads:
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

    async def _listed(self, prefix: str) -> AsyncIterator[_Upload]:
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
        status, content = await asyncio.to_thread(lambda: answered(self._ask(method, key, query), _MOST_BYTES))
        if status in expected:
            return None
        if status >= 300:
            # The words that `storage_failure` reads.
            raise OSError(f"status code: {status} {content.decode(errors='replace')}")
        return content


def s3_uploads(bucket: S3Bucket) -> Uploads:
    return Uploads(lambda method, key, query: signed_request(bucket, method, key, query, datetime.now(UTC)))


def gcs_uploads(address: str, token: Callable[[], str]) -> Uploads:
    """Unfinished uploads of the bucket of Google Cloud Storage with the URL `address`."""

    def ask(method: str, key: str, query: Mapping[str, str]) -> Request:
        path = f"{address}/{quote(key)}" if key else address
        headers = {"authorization": f"Bearer {token()}"}
        return Request(f"{path}?{urlencode(query)}", headers=headers, method=method)

    return Uploads(ask)


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


def _parsed(page: bytes) -> tuple[list[_Upload], Mapping[str, str] | None]:
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


def _upload(texts: Mapping[str, str]) -> _Upload:
    begun = datetime.fromisoformat(texts["Initiated"])
    return _Upload(texts["Key"], texts["UploadId"], int(begun.timestamp()) * _SECOND_NS)


def _texts(node: ElementTree.Element) -> Iterator[tuple[str, str]]:
    return ((_name(child), child.text or "") for child in node)


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]
