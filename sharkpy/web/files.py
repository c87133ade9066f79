"""Files of the console's page, which `npm run build` in `sharkpy/web/page` writes to `sharkpy/web/static`."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.responses import Response

from sharkpy.base.records import dataclass
from sharkpy.explain.profile_html import PAGE

if TYPE_CHECKING:
    from starlette.requests import Request

STATIC = Path(__file__).with_name("static")
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""Content encodings, the best first, and what they add to the name of a file."""
_HASHED = re.compile(r"[-.][\w-]{8,}\.\w+$")
"""Names with a hash of the content, which never change."""
_TYPES = {".js": "text/javascript", ".map": "application/json", ".woff2": "font/woff2", ".svg": "image/svg+xml"}
_NOT_BUILT = b"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sharkpy</title></head><body>
<h1>sharkpy</h1><p>The server runs, but the page of its console is not built. Run <code>make page</code> in the clone of
sharkpy, then start the server again. A package from <code>make wheel</code> has the page.</p>
<p>There are <a href="/queries">queries</a>, <a href="/metrics">metrics</a> and the
<a href="/api/v1/openapi.json">API</a>.</p></body></html>
"""


@dataclass(frozen=True, slots=True)
class PageFile:
    """File of the page, with its content by encoding; "" is the plain one."""

    content_type: str
    is_hashed: bool
    contents: Mapping[str, bytes]
    tag: str = field(default="")

    def respond(self, request: Request) -> Response:
        headers = {
            "ETag": self.tag,
            "Vary": "Accept-Encoding",
            "Cache-Control": "public, max-age=31536000, immutable" if self.is_hashed else "no-cache",
        }
        if self.tag in [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        accepted = _accepted(request.headers.get("accept-encoding", ""))
        encoding = next((one for one in _ENCODINGS if one in accepted and one in self.contents), "")
        if encoding:
            headers["Content-Encoding"] = encoding
        return Response(self.contents[encoding], headers=headers, media_type=self.content_type)


def _accepted(header: str) -> set[str]:
    """Return the encodings of an Accept-Encoding header."""
    found = set()
    for part in header.lower().split(","):
        name, _, quality = part.partition(";")
        if quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            found.add(name.strip())
    return found


def page_files(folder: Path = STATIC) -> dict[str, PageFile]:
    """Return the files by their paths. They are read once: no path of a request leads to another file.

    The page of profiles is none of them. Each profile gets a copy.
    """
    if not (folder / "index.html").is_file():
        return {"/": _page_file("index.html", {"": _NOT_BUILT})}
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix in _ENCODINGS.values() or path.name == PAGE.name:
            continue
        contents = {"": path.read_bytes()}
        for encoding, suffix in _ENCODINGS.items():
            if (packed := path.with_name(path.name + suffix)).is_file():
                contents[encoding] = packed.read_bytes()
        found[f"/{path.relative_to(folder).as_posix()}"] = _page_file(path.name, contents)
    return {"/": found["/index.html"], **found}


def _page_file(name: str, contents: Mapping[str, bytes]) -> PageFile:
    content_type = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    tag = f'"{hashlib.sha256(contents[""]).hexdigest()[:32]}"'
    return PageFile(content_type, _HASHED.search(name) is not None, contents, tag)
