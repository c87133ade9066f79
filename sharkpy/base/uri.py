"""Locations as texts: local paths, `file:` URIs, and URIs of remote file systems; their stored form.

No file system is accessed by text operations. Nothing is decoded either: as in Hadoop, `%3A` in the name of a
Hive partition stays `%3A`. The catalog's file stores locations in the warehouse relative to it (`Locations`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_LOCAL = frozenset({"", "file"})
_SAME = {"s3a": "s3", "s3n": "s3"}
"""Alternative names of schemes."""
_WITH_CONTAINER = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Schemes whose URIs have a container, not a user, before the host."""
_WITH_PORT = {"hdfs": ":8020"}
"""Default ports of schemes."""
_SECRETS = frozenset(
    {
        *("sig", "signature", "token", "secret", "credential", "password", "key", "apikey"),
        *("accesskeyid", "awsaccesskeyid", "googleaccessid"),
    }
)
"""Words in names of query parameters whose values grant access."""


def scheme_of(location: str) -> str:
    """Return the scheme of a URI in lower case, or an empty text for a path."""
    found = _SCHEME.match(location)
    return "" if found is None else found.group(1).lower()


def is_remote(location: str) -> bool:
    """Return True for a URI of a file system other than the local one."""
    return scheme_of(location) not in _LOCAL


def normalized(location: str) -> str:
    """Normalize a remote location: the scheme's common name, no slash at the end. A path is returned unchanged."""
    scheme = scheme_of(location)
    if scheme in _LOCAL:
        return location
    root, key = _cut(location)
    authority = root[len(scheme) + 1 :].removeprefix("//")
    return _put(f"{_SAME.get(scheme, scheme)}://{authority}", key)


def canonical(location: str) -> str:
    """Normalize a location so that all its schemes, hosts and ports compare equal. Deletions need this comparison;
    requests do not use its result.
    """
    found = normalized(location)
    scheme = scheme_of(found)
    if scheme not in _WITH_CONTAINER and scheme not in _WITH_PORT:
        return found
    root, key = _cut(found)
    authority = root.partition("://")[2].lower()
    if scheme in _WITH_CONTAINER:
        return _put(f"abfss://{authority.replace('.blob.', '.dfs.', 1)}", key)
    return _put(f"{scheme}://{authority.removesuffix(_WITH_PORT[scheme])}", key)


def join(location: str, *names: str) -> str:
    """Append `names` to the location of a folder. A name may have several parts."""
    if not is_remote(location):
        return str(Path(location, *names))
    root, key = _cut(location)
    return _put(root, "/".join(filter(None, (key, *(name.strip("/") for name in names)))))


def parent(location: str) -> str:
    """Return the folder that contains a location. The parent of the root is the root."""
    if not is_remote(location):
        return str(Path(location).parent)
    root, key = _cut(location)
    return _put(root, key.rpartition("/")[0].rstrip("/"))


def parents(location: str) -> list[str]:
    """Return the folders that contain a location, nearest first, up to the root."""
    found, above = list[str](), parent(location)
    while above != location:
        found.append(above)
        location, above = above, parent(above)
    return found


def name_of(location: str) -> str:
    """Return the last part of a location, which is empty for the root."""
    return _cut(location)[1].rpartition("/")[2] if is_remote(location) else Path(location).name


def below(location: str, folder: str) -> str | None:
    """Return the location relative to `folder`, by text: "." for the folder itself, None if it is not in the folder."""
    prefix = f"{folder.rstrip('/')}/"
    if is_remote(location):
        location, folder = normalized(location), normalized(folder)
        prefix = f"{folder}/"
    if location == folder:
        return "."
    inside = location.removeprefix(prefix)
    return None if inside == location or ".." in inside.split("/") else inside


def redacted(location: str) -> str:
    """Return a location that is safe to show: *** replaces a user, password or signature in a remote URI."""
    if not is_remote(location):
        return location
    start, user, rest = _parts(location)
    place, mark, _ = rest.partition("?")
    return f"{start}{'***@' if user else ''}{place}{'?***' if mark else ''}"


def as_uri(location: str) -> str:
    """Return the URI of a location. A path becomes `file:/a/b`, as in Hadoop."""
    return location if scheme_of(location) else f"file:{Path(location)}"


def check_no_secrets(location: str) -> None:
    """Raise UnsupportedError for a remote location with a user, password or signature."""
    if not is_remote(location):
        return
    _, user, rest = _parts(location)
    parameters = rest.partition("?")[2].split("&")
    if user or any(_is_secret(parameter.partition("=")[0]) for parameter in parameters):
        message = f'a user, a key or a signature in the location "{redacted(location)}"'
        raise UnsupportedError(message, hint="leave it out: every user of the table can see its location")


def _cut(location: str) -> tuple[str, str]:
    """Split a remote location into root and key, `s3://bucket` and `a/b`, without a slash between or after them."""
    end = location.index(":") + 1
    if location.startswith("//", end):
        found = location.find("/", end + 2)
        end = len(location) if found < 0 else found
    return location[:end], location[end + 1 :].rstrip("/")


def _put(root: str, key: str) -> str:
    """Join what `_cut` has split."""
    return f"{root}/{key}" if key or root.endswith(":") else root


def _parts(location: str) -> tuple[str, str, str]:
    """Split a remote location into its scheme with slashes, user with password, and the rest.

    A password may hold any character. Text after a colon is taken for a password up to the last `@`, unless it is a
    port.
    """
    rest = location[location.index(":") + 1 :].lstrip("/")
    start = location[: len(location) - len(rest)]
    authority = rest.partition("/")[0].partition("?")[0].partition("#")[0]
    _, colon, port = authority.partition(":")
    has_host = start.endswith("://")
    if colon and not port.isdigit():
        user = rest.rpartition("@")[0]
    else:
        user = authority.rpartition("@")[0] if has_host else ""
    if not user or (":" not in user and scheme_of(location) in _WITH_CONTAINER):
        return start, "", rest
    return start, user, rest[len(user) + 1 :]


def _is_secret(parameter: str) -> bool:
    words = unquote(parameter).lower().replace("_", "-").split("-")
    return not _SECRETS.isdisjoint(words)


STATE_FOLDER = ".sharkpy"
"""Folder of the engine's own files, in a warehouse or next to its catalog. No table or database may have this name."""


@dataclass(frozen=True, slots=True)
class Locations:
    """Conversion of locations to stored ones and back.

    1. A path in the folder `warehouse`, under any name of that folder, is stored relative to it. So the catalog of a
       copied or moved warehouse refers to the copied files. The same holds for URIs in a warehouse at a URI.
    2. Other paths and URIs are stored unchanged. If `warehouse` is empty, all are.
    3. `real` is the path of a local warehouse without symbolic links. It identifies the folder under its other names.
    """

    warehouse: str = ""
    real: str = ""

    @classmethod
    def below(cls, warehouse: str) -> Locations:
        return cls(warehouse, "" if is_remote(warehouse) else os.path.realpath(warehouse))

    def stored(self, location: str) -> str:
        if not self.warehouse or bool(scheme_of(location)) != is_remote(self.warehouse):
            return location
        inside = below(location, self.warehouse)
        if inside is None and self.real:
            inside = below(os.path.realpath(location), self.real)
        if inside is None:
            return location
        # The name of a folder may look like a scheme, and the name of an object may begin with a slash.
        return f"./{inside}" if is_outside(inside) or inside.startswith("./") else inside

    def absolute(self, stored: str) -> str:
        if not self.warehouse or is_outside(stored):
            return stored
        return self.warehouse if stored == "." else f"{self.warehouse}/{stored.removeprefix('./')}"


def is_outside(stored: str) -> bool:
    """Return True if a stored location is not relative to the warehouse."""
    return stored.startswith("/") or bool(scheme_of(stored))
