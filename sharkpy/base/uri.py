"""Locations as texts: paths of the local file system, `file:` URIs, and remote ones, URIs of other file systems.

No file system is asked. Nothing is decoded either: a URI's path is what is written, as for Hadoop, so that `%3A` in the
name of a Hive partition stays `%3A`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from sharkpy.base.errors import UnsupportedError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_LOCAL = frozenset({"", "file"})
_SAME = {"s3a": "s3", "s3n": "s3"}
"""Schemes that are other words for a file system."""
_WITH_CONTAINER = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Schemes whose URIs have a container, and not a user, before the host."""
_WITH_PORT = {"hdfs": ":8020"}
"""Schemes whose hosts have a port also where none is named."""
_SECRETS = frozenset(
    {
        *("sig", "signature", "token", "secret", "credential", "password", "key", "apikey"),
        *("accesskeyid", "awsaccesskeyid", "googleaccessid"),
    }
)
"""Words in the names of a query's parameters whose values give access."""


def scheme_of(location: str) -> str:
    """Scheme of a URI, in lower case; empty for a path."""
    found = _SCHEME.match(location)
    return "" if found is None else found.group(1).lower()


def is_remote(location: str) -> bool:
    """True for a URI of another file system than the local one."""
    return scheme_of(location) not in _LOCAL


def normal(location: str) -> str:
    """Form in which remote locations of one place are equal: by the scheme's common name, without a slash at the end.

    A path is left as it is.
    """
    scheme = scheme_of(location)
    if scheme in _LOCAL:
        return location
    root, key = _cut(location)
    authority = root[len(scheme) + 1 :].removeprefix("//")
    return _put(f"{_SAME.get(scheme, scheme)}://{authority}", key)


def place(location: str) -> str:
    """`normal`, in which locations are also equal that one place has by several schemes, hosts or ports: for what
    deletes, which has to know that, and not for requests.
    """
    found = normal(location)
    scheme = scheme_of(found)
    if scheme not in _WITH_CONTAINER and scheme not in _WITH_PORT:
        return found
    root, key = _cut(found)
    authority = root.partition("://")[2].lower()
    if scheme in _WITH_CONTAINER:
        return _put(f"abfss://{authority.replace('.blob.', '.dfs.', 1)}", key)
    return _put(f"{scheme}://{authority.removesuffix(_WITH_PORT[scheme])}", key)


def join(location: str, *names: str) -> str:
    """Location of what is called `names` in a folder, one below the other; a name may have several parts."""
    if not is_remote(location):
        return str(Path(location, *names))
    root, key = _cut(location)
    return _put(root, "/".join(filter(None, (key, *(name.strip("/") for name in names)))))


def parent(location: str) -> str:
    """Folder that holds a location; the root is its own."""
    if not is_remote(location):
        return str(Path(location).parent)
    root, key = _cut(location)
    return _put(root, key.rpartition("/")[0].rstrip("/"))


def parents(location: str) -> list[str]:
    """Folders that a location is in, the nearest first, up to the root."""
    found, above = list[str](), parent(location)
    while above != location:
        found.append(above)
        location, above = above, parent(above)
    return found


def name_of(location: str) -> str:
    """Name of a location in the folder that holds it; empty for the root."""
    return _cut(location)[1].rpartition("/")[2] if is_remote(location) else Path(location).name


def below(location: str, folder: str) -> str | None:
    """Location relative to `folder`, by its text: "." for the folder itself, None for one that is not in it."""
    prefix = f"{folder.rstrip('/')}/"
    if is_remote(location):
        location, folder = normal(location), normal(folder)
        prefix = f"{folder}/"
    if location == folder:
        return "."
    inside = location.removeprefix(prefix)
    return None if inside == location or ".." in inside.split("/") else inside


def shown(location: str) -> str:
    """Location as others may see it: `***` stands for what may be a user, a password or a signature in a remote one."""
    if not is_remote(location):
        return location
    start, user, rest = _parts(location)
    place, mark, _ = rest.partition("?")
    return f"{start}{'***@' if user else ''}{place}{'?***' if mark else ''}"


def as_uri(location: str) -> str:
    """URI of a location; of a path as Hadoop writes it, `file:/a/b`."""
    return location if scheme_of(location) else f"file:{Path(location)}"


def check_no_secrets(location: str) -> None:
    """UnsupportedError for a remote location with a user, a password or a signature in it."""
    if not is_remote(location):
        return
    _, user, rest = _parts(location)
    parameters = rest.partition("?")[2].split("&")
    if user or any(_is_secret(parameter.partition("=")[0]) for parameter in parameters):
        message = f'a user, a key or a signature in the location "{shown(location)}"'
        raise UnsupportedError(message, hint="leave it out: a location is shown to all who may see the table")


def _cut(location: str) -> tuple[str, str]:
    """Root and key of a remote location, `s3://bucket` and `a/b`, without slashes between them and at the end."""
    end = location.index(":") + 1
    if location.startswith("//", end):
        found = location.find("/", end + 2)
        end = len(location) if found < 0 else found
    return location[:end], location[end + 1 :].rstrip("/")


def _put(root: str, key: str) -> str:
    """Put together what `_cut` has cut."""
    return f"{root}/{key}" if key or root.endswith(":") else root


def _parts(location: str) -> tuple[str, str, str]:
    """Scheme with its slashes, user with password, and the rest of a remote location.

    A password may hold any character. Whatever follows a colon, and is no port, is taken for one up to the last `@`.
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
