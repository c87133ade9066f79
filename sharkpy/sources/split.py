"""A part of a file that one task reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """Bytes [start, start + length) of a text or JSON file, or row groups / stripes [start, start + length).

    `modified_ns` and `file_bytes` identify the file's content: a split whose file has changed is refused.
    `partition` is the name of the Hive partition that the file belongs to, empty where there are none.
    """

    path: str
    format: str
    properties: tuple[tuple[str, str], ...]
    start: int
    length: int
    file_bytes: int
    modified_ns: int
    num_rows: int | None = None
    partition: str = ""
