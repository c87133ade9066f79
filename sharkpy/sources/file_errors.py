"""Operating system errors as the engine's, with the file and the cause."""

from __future__ import annotations

import errno

from sharkpy.base.errors import ExecutionError, ResourceError, SourceError, UnsupportedError
from sharkpy.base.uri import redacted
from sharkpy.catalog.system_tables import BLOCK_OFFSET

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def io_error(error: OSError, path: str) -> ExecutionError:
    """SourceError 58P01 (missing) or 58030, or ResourceError 53100 if the disk is full."""
    place = error.filename if isinstance(error.filename, str) else path
    if error.errno in _FULL or "No space left" in str(error):
        return ResourceError(f'disk full while writing "{place}"', sqlstate="53100")
    if error.errno == errno.ENAMETOOLONG:
        return _too_long(place)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return missing(place)
    reason = error.strerror or str(error)
    return SourceError(f'"{place}" cannot be read or written: {reason}')


def missing(location: str) -> SourceError:
    """Error for a file or folder that does not exist."""
    return SourceError(f'file or folder "{redacted(location)}" does not exist', sqlstate="58P01")


def _too_long(path: str) -> SourceError:
    name = max(path.split("/"), key=lambda part: len(part.encode("utf-8", "surrogatepass")))
    size = len(name.encode("utf-8", "surrogatepass"))
    hint = "folders are named after the values of partition columns; file systems take 255 bytes"
    return SourceError(f'the name "{name[:40]}…" of a file or folder has {size} bytes', hint=hint, sqlstate="54000")


def no_row_offsets(path: str, format_name: str) -> UnsupportedError:
    """Error for the virtual column of row offsets in a format whose rows have no offsets in the file."""
    return UnsupportedError(f'the virtual column {BLOCK_OFFSET.upper()} of the {format_name} file "{path}"')


def format_error(path: str, format_name: str, error: Exception) -> ExecutionError:
    """The engine's error for an Arrow reader's error about a file. Operating system errors keep their meaning."""
    if isinstance(error, OSError) and error.errno is not None:
        return io_error(error, path)
    return SourceError(f'"{path}" is not a readable {format_name} file: {first_line(error)}')


def first_line(error: Exception) -> str:
    """First line of a library's error message; the error's class if it is empty."""
    return (str(error).splitlines() or [type(error).__name__])[0]
