"""Setting: a key of the engine's configuration with its type, default and meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from sharkpy.base.errors import ConfigurationError

T = TypeVar("T", int, float, bool, str)

_SUFFIXES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A key with its default and meaning. The default's type is the setting's type; sizes take k, m, g.

    `synonyms` are other keys of it. `check`, where given, gives the value of a text, or raises ConfigurationError.
    `is_guarded`: for the engine's owner alone (memory, paths, Java, limits): a session with restrictions cannot set it.
    """

    key: str
    default: T
    doc: str
    is_guarded: bool = False
    synonyms: tuple[str, ...] = ()
    check: Callable[[str], T] | None = None

    def parse(self, text: str) -> T:
        if self.check is not None:
            return self.check(text)
        value: int | float | bool | str
        try:
            match self.default:
                case bool():
                    value = {"true": True, "1": True, "false": False, "0": False}[text.strip().lower()]
                case int():
                    value = _parse_size(text)
                case float():
                    value = float(text)
                case _:
                    value = text
        except (KeyError, ValueError):
            kind = type(self.default).__name__
            raise ConfigurationError(f'"{text}" is not a value of {self.key} ({kind})', sqlstate="22023") from None
        return value


def _parse_size(text: str) -> int:
    lowered = text.strip().lower().removesuffix("b")
    if lowered and lowered[-1] in _SUFFIXES:
        return int(float(lowered[:-1]) * _SUFFIXES[lowered[-1]])
    return int(lowered)
