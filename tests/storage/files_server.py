"""Server of the files of a folder by HTTP, with ETags and ranges or without."""

from __future__ import annotations

import re
from email.utils import formatdate
from hashlib import md5
from pathlib import Path
from urllib.parse import unquote

from tests.storage.loopback import LoopbackServer, QuietHandler

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class FilesServer:
    """Server of the files below `folder`, at `address`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.has_tags = True
        self.has_ranges = True
        self._server = LoopbackServer(_Handler, self)

    @property
    def address(self) -> str:
        return self._server.address

    def put(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def close(self) -> None:
        self._server.close()


class _Handler(QuietHandler):
    owner: FilesServer

    def do_GET(self) -> None:
        path = self.owner.folder / unquote(self.path.removeprefix("/"))
        if not path.is_file():
            return self.answer(404, b"", {})
        content = path.read_bytes()
        headers = {"Last-Modified": formatdate(path.stat().st_mtime, usegmt=True)}
        tag = f'"{md5(content).hexdigest()}"'
        if self.owner.has_tags:
            headers["ETag"] = tag
            if self.headers.get("If-Match", tag) != tag:
                return self.answer(412, b"", {})
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        if asked is None or not self.owner.has_ranges:
            return self.answer(200, content, headers)
        start, end = int(asked.group(1)), min(int(asked.group(2)) + 1, len(content))
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return self.answer(206, content[start:end], headers)
