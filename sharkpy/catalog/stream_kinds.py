"""Kinds of streams: what stands behind FROM in CREATE STREAM, and the options that each takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sharkpy.base.digits import whole_number
from sharkpy.base.errors import BindError, did_you_mean

SETTLE_MS = "settle.ms"
MAX_FILES = "max.files.per.epoch"
MAX_BYTES = "max.bytes"
_MOST = 1 << 50


def _count(least: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        number = whole_number(text)
        return number is not None and least <= number <= _MOST

    return check


@dataclass(frozen=True, slots=True)
class StreamOption:
    """Option of a kind of streams; `check` is False for a value that cannot be obeyed."""

    name: str
    default: str
    check: Callable[[str], bool]
    doc: str


@dataclass(frozen=True, slots=True)
class StreamKind:
    """Kind of streams. `place`: what its text in quotes is; empty if it takes none."""

    name: str
    place: str
    options: tuple[StreamOption, ...] = ()

    def check(self, options: Iterable[tuple[str, str]]) -> None:
        """BindError for an unknown option, or a value that cannot be obeyed."""
        known = {one.name: one for one in self.options}
        for name, value in options:
            if name not in known:
                hint = did_you_mean(name, known) or f"there are {', '.join(known) or 'none'}"
                raise BindError(f'FROM {self.name} has no option "{name}"', hint=hint, sqlstate="22023")
            if not known[name].check(value):
                raise BindError(f'"{value}" is not a value of the option {name}', sqlstate="22023")

    def value(self, options: Iterable[tuple[str, str]], name: str) -> int:
        """Value of an option that is a number, as given or by default."""
        default = next(one.default for one in self.options if one.name == name)
        return int(dict(options).get(name, default))


FOLDER = StreamKind(
    "FOLDER",
    "the path of a folder",
    (
        StreamOption(SETTLE_MS, "0", _count(0), "milliseconds without a write after which a file is whole"),
        StreamOption(MAX_FILES, "10000", _count(1), "files of an epoch"),
    ),
)
PROGRAM = StreamKind(
    "PROGRAM",
    "",
    (
        StreamOption(MAX_BYTES, str(1 << 30), _count(1), "bytes that may wait to be read"),
        StreamOption(MAX_FILES, "10000", _count(1), "pushes of an epoch"),
    ),
)
KINDS = {kind.name: kind for kind in (FOLDER, PROGRAM)}
PLANNED = ("KAFKA", "SOCKET", "RATE", "TABLE")
"""Kinds that are known and cannot be made yet."""
