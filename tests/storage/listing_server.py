"""Server of S3 that has many small objects by rule, and lists them by name, a page at a time."""

from __future__ import annotations

import bisect
import itertools
import threading
import time
from collections.abc import Iterable
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.storage.loopback import LoopbackServer, QuietHandler

_PAGE = 1000
_TIME = "2026-01-01T00:00:00.000Z"


class ListingServer:
    """Objects of the bucket `bucket` with the names `keys`; each holds the line of its number.

    `page_seconds`: how long each list takes. `lists`: the queries of the requested lists.
    """

    def __init__(self, bucket: str, keys: Iterable[str], page_seconds: float = 0) -> None:
        self.bucket = bucket
        self.keys = sorted(keys)
        self.page_seconds = page_seconds
        self.lists: list[dict[str, str]] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = LoopbackServer(_Handler, self)

    @property
    def address(self) -> str:
        return self._server.address

    def close(self) -> None:
        self._server.close()

    def content(self, key: str) -> bytes | None:
        place = bisect.bisect_left(self.keys, key)
        return b"%07d\n" % place if self.keys[place : place + 1] == [key] else None

    def page(self, query: dict[str, str]) -> str:
        with self._lock:
            self.lists.append(query)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(self.page_seconds)
        with self._lock:
            self._at_once -= 1
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        place = max(bisect.bisect_left(self.keys, prefix), bisect.bisect_right(self.keys, after))
        objects, folders = list[str](), list[str]()
        while len(objects) + len(folders) < _PAGE and place < len(self.keys):
            key = self.keys[place]
            if not key.startswith(prefix):
                break
            name, mark, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if mark:
                folders.append(f"{prefix}{name}{mark}")
                place = bisect.bisect_left(self.keys, f"{folders[-1]}\U0010ffff")
            else:
                objects.append(key)
                place += 1
        is_cut = place < len(self.keys) and self.keys[place].startswith(prefix)
        token = f"<NextContinuationToken>{escape(self.keys[place - 1])}</NextContinuationToken>" if is_cut else ""
        parts = itertools.chain(
            (f"<IsTruncated>{str(is_cut).lower()}</IsTruncated>{token}",),
            (
                f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified><ETag>&quot;1&quot;</ETag>"
                "<Size>8</Size></Contents>"
                for key in objects
            ),
            (f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders),
        )
        return f"<ListBucketResult><Name>{self.bucket}</Name>{''.join(parts)}</ListBucketResult>"


class _Handler(QuietHandler):
    owner: ListingServer

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(place.query).items()}
        if "list-type" in query:
            self.answer(200, self.owner.page(query).encode(), {"Content-Type": "application/xml"})
            return
        content = self.owner.content(unquote(place.path.removeprefix(f"/{self.owner.bucket}/")))
        if content is None:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
            return
        start, _, end = self.headers.get("Range", "bytes=0-7").removeprefix("bytes=").partition("-")
        part = content[int(start) : int(end) + 1]
        told = {"ETag": '"1"', "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
        if "Range" in self.headers:
            told["Content-Range"] = f"bytes {start}-{int(start) + len(part) - 1}/{len(content)}"
        self.answer(206 if "Range" in self.headers else 200, part, told)
