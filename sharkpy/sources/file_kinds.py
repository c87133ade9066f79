"""Formats of files, recognised by their first and last bytes, before a table takes over files that it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.sources.failures import io_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import of_each
from sharkpy.sources.mapped_file import mapped

_END_BYTES = 24
_KINDS: dict[str, Callable[[bytes, bytes], bool]] = {
    "parquet": lambda head, end: head[:3] == b"PAR" and end[-4:] in (b"PAR1", b"PARE"),
    "orc": lambda head, end: head[:3] == end[-4:-1] == b"ORC",
    "avro": lambda head, _: head[:4] == b"Obj\x01",
    "rcfile": lambda head, _: head[:4] == b"RCF\x01" and head[4:5] in (b"\0", b"\x01"),
    "sequencefile": lambda head, _: head[:4] == b"SEQ\x06",
}
"""Tests for each format, by name, on the first and last bytes of a file."""
_SHOWN = {"parquet": "a Parquet", "orc": "an ORC", "avro": "an Avro", "rcfile": "an RC", "sequencefile": "a sequence"}
_OLD_FORM = {"rcfile": "sequencefile"}
"""Formats whose first version begins like another format."""


def check_kind(files: Sequence[DataFile], name: str) -> None:
    """Raise SourceError 22000 for a file that the named format cannot read. Empty files fit any format."""
    of_each(lambda file: _check(file, name), [file for file in files if file.size_bytes])


def _check(file: DataFile, name: str) -> None:
    try:
        with mapped(file) as data:
            size = len(data)
            head, end = data[:_END_BYTES], data[max(size - _END_BYTES, 0) : size]
    except OSError as error:
        raise io_error(error, file.path) from None
    found = next((one for one, is_kind in _KINDS.items() if is_kind(head, end)), None)
    wanted = name if name in _KINDS else None
    if found == wanted or (found is not None and found == _OLD_FORM.get(name)):
        return
    if wanted == "orc" and found is None and head[:3] == b"ORC":
        # The oldest ORC files are marked only at their start.
        return
    shown, path = _SHOWN.get(name, "a text"), uri.redacted(file.path)
    message = f'"{path}" is not {shown} file' + (f", but {_SHOWN[found]} file" if found is not None else "")
    hint = "load it into a table of its own format, and INSERT from that"
    raise SourceError(message, hint=hint, sqlstate="22000")
