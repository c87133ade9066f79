"""Server of Google Cloud Storage's XML API, as obstore speaks it, in threads of this process.

By "XML API overview" of Google's documentation: objects have a generation, which a put can demand (0: there is none),
and lists are by name. A token is asked for unless the bucket is open.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.storage.loopback import LoopbackServer, QuietHandler

TOKEN = "ya29.token-of-the-tests"
_LEAST_PART = 5 << 20


@dataclass(frozen=True, slots=True)
class _Object:
    content: bytes
    generation: int
    tag: str
    modified: datetime


@dataclass(slots=True)
class _Upload:
    key: str
    begun: datetime
    parts: dict[int, tuple[str, bytes]] = field(default_factory=dict)


class GcsServer:
    """Bucket `bucket` at `address`. `tokens`: accepted tokens. `is_open`: no token is needed. `page`: objects of a list
    at most. If `empty_pages` is set, every other page is empty, as Google's may be.
    """

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.tokens = {TOKEN}
        self.is_open = False
        self.page = 1000
        self.empty_pages = False
        self.objects: dict[str, _Object] = {}
        self.uploads: dict[str, _Upload] = {}
        self._numbers = itertools.count(1_700_000_000_000_001)
        self._lock = threading.Lock()
        self._server = LoopbackServer(_Handler, self)

    @property
    def address(self) -> str:
        return self._server.address

    def close(self) -> None:
        self._server.close()

    def put(self, key: str, content: bytes, wanted: str | None = None, tag: str = "") -> _Object | None:
        """Put an object. Return None if the object has another generation than the wanted one."""
        with self._lock:
            old = self.objects.get(key)
            if wanted is not None and wanted != str(old.generation if old else 0):
                return None
            tag = tag or f'"{hashlib.md5(content).hexdigest()}"'
            self.objects[key] = _Object(content, next(self._numbers), tag, datetime.now(UTC))
            return self.objects[key]

    def delete(self, key: str) -> bool:
        with self._lock:
            return self.objects.pop(key, None) is not None

    def begin(self, key: str) -> str:
        with self._lock:
            name = f"upload-{next(self._numbers)}"
            self.uploads[name] = _Upload(key, datetime.now(UTC))
            return name

    def listed(self, query: dict[str, str]) -> Iterator[str]:
        """Parts of a page: objects and folders after the last name of the previous page."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        token = query.get("continuation-token", "")
        after = token.removeprefix("empty:") if token else query.get("start-after", "")
        if self.empty_pages and not token.startswith("empty:"):
            yield f"<IsTruncated>true</IsTruncated><NextContinuationToken>empty:{escape(after)}</NextContinuationToken>"
            return
        with self._lock:
            known = sorted(self.objects.items(), key=lambda item: item[0].encode())
        count, last, folder = 0, "", ""
        for key, one in known:
            name = _rolled_up(key, prefix, delimiter)
            if not key.startswith(prefix) or name.encode() <= after.encode() or (folder and key.startswith(folder)):
                continue
            if count == self.page:
                yield f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(last)}</NextContinuationToken>"
                return
            count, last = count + 1, name
            if name == key:
                yield f"<Contents><Key>{escape(key)}</Key><Size>{len(one.content)}</Size><ETag>{one.tag}</ETag>"
                yield f"<LastModified>{_iso(one.modified)}</LastModified><Generation>{one.generation}</Generation>"
                yield "</Contents>"
            else:
                folder = name
                yield f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
        yield "<IsTruncated>false</IsTruncated>"


def _rolled_up(key: str, prefix: str, delimiter: str) -> str:
    name, mark, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
    return f"{prefix}{name}{mark}" if mark else key


def _iso(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class _Handler(QuietHandler):
    owner: GcsServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        place = urlsplit(self.path)
        bucket, _, key = unquote(place.path).removeprefix("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(place.query, keep_blank_values=True).items()}
        if not self.owner.is_open:
            kind, _, token = self.headers.get("Authorization", "").partition(" ")
            if not kind:
                return self._refuse(403, "AccessDenied", "Anonymous caller does not have storage.objects.get access")
            if kind != "Bearer" or token not in self.owner.tokens:
                return self._refuse(401, "AuthenticationRequired", "Authentication required.")
        if bucket != self.owner.bucket:
            return self._refuse(404, "NoSuchBucket", "The specified bucket does not exist.")
        if not key:
            return self._bucket(query)
        calls: dict[str, Callable[[str, dict[str, str], bytes], None]] = {
            "GET": self._read,
            "HEAD": self._read,
            "PUT": self._put,
            "POST": self._post,
            "DELETE": self._delete,
        }
        return calls[self.command](key, query, body)

    def _bucket(self, query: dict[str, str]) -> None:
        if "uploads" in query:
            found = (
                f"<Upload><Key>{escape(one.key)}</Key><UploadId>{name}</UploadId>"
                f"<Initiated>{_iso(one.begun)}</Initiated></Upload>"
                for name, one in sorted(self.owner.uploads.items())
                if one.key.startswith(query.get("prefix", ""))
            )
            return self._xml("ListMultipartUploadsResult", "<IsTruncated>false</IsTruncated>" + "".join(found))
        return self._xml("ListBucketResult", "".join(self.owner.listed(query)))

    def _read(self, key: str, query: dict[str, str], body: bytes) -> None:
        one = self.owner.objects.get(key)
        if one is None:
            return self._refuse(404, "NoSuchKey", "The specified key does not exist.")
        if self.headers.get("If-Match", one.tag) != one.tag:
            return self._refuse(412, "PreconditionFailed", "At least one of the pre-conditions did not hold.")
        headers = self._told(one)
        asked = self.headers.get("Range")
        if asked is None:
            return self.answer(200, one.content, headers)
        start, _, end = asked.removeprefix("bytes=").partition("-")
        if int(start) >= len(one.content):
            return self._refuse(416, "InvalidRange", "The requested range cannot be satisfied.")
        part = one.content[int(start) : int(end) + 1]
        headers["Content-Range"] = f"bytes {start}-{int(start) + len(part) - 1}/{len(one.content)}"
        return self.answer(206, part, headers)

    def _put(self, key: str, query: dict[str, str], body: bytes) -> None:
        if "uploadId" in query:
            upload = self.owner.uploads.get(query["uploadId"])
            if upload is None:
                return self._refuse(404, "NoSuchUpload", "The requested upload was not found.")
            tag = f'"{hashlib.md5(body).hexdigest()}"'
            upload.parts[int(query["partNumber"])] = (tag, body)
            return self.answer(200, b"", {"ETag": tag})
        copied = self.headers.get("x-goog-copy-source")
        if copied is not None:
            source = self.owner.objects.get(unquote(copied).removeprefix("/").partition("/")[2])
            if source is None:
                return self._refuse(404, "NoSuchKey", "The specified key does not exist.")
            body = source.content
        put = self.owner.put(key, body, self.headers.get("x-goog-if-generation-match"))
        if put is None:
            return self._refuse(412, "PreconditionFailed", "At least one of the pre-conditions did not hold.")
        return self.answer(200, b"", self._told(put))

    def _post(self, key: str, query: dict[str, str], body: bytes) -> None:
        if "uploads" in query:
            name = self.owner.begin(key)
            return self._xml("InitiateMultipartUploadResult", f"<Key>{escape(key)}</Key><UploadId>{name}</UploadId>")
        upload = self.owner.uploads.get(query["uploadId"])
        if upload is None:
            return self._refuse(404, "NoSuchUpload", "The requested upload was not found.")
        wanted = [(int(one.findtext("PartNumber") or 0), one.findtext("ETag")) for one in ElementTree.fromstring(body)]
        if not wanted or any(upload.parts.get(number, ("",))[0] != tag for number, tag in wanted):
            return self._refuse(400, "InvalidPart", "One or more of the specified parts could not be found.")
        parts = [upload.parts[number][1] for number, _ in wanted]
        if any(len(part) < _LEAST_PART for part in parts[:-1]):
            return self._refuse(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum object size.")
        del self.owner.uploads[query["uploadId"]]
        content = b"".join(parts)
        put = self.owner.put(key, content, tag=f'"-C{hashlib.sha1(content).hexdigest()[:16]}="')
        assert put is not None
        told = self._told(put)
        return self._xml("CompleteMultipartUploadResult", f"<ETag>{escape(put.tag)}</ETag>", told)

    def _delete(self, key: str, query: dict[str, str], body: bytes) -> None:
        if "uploadId" in query:
            is_there = self.owner.uploads.pop(query["uploadId"], None) is not None
        else:
            is_there = self.owner.delete(key)
        if is_there:
            return self.answer(204, b"", {})
        return self._refuse(404, "NoSuchKey", "The specified key does not exist.")

    def _told(self, one: _Object) -> dict[str, str]:
        modified = format_datetime(one.modified, usegmt=True)
        return {"ETag": one.tag, "Last-Modified": modified, "x-goog-generation": str(one.generation)}

    def _xml(self, name: str, content: str, headers: dict[str, str] | None = None) -> None:
        text = f"<?xml version='1.0' encoding='UTF-8'?><{name}>{content}</{name}>"
        self.answer(200, text.encode(), {**(headers or {}), "Content-Type": "application/xml"})

    def _refuse(self, status: int, code: str, message: str) -> None:
        text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        self.answer(status, text.encode(), {"Content-Type": "application/xml"})
