"""A key of the configuration, with its type, default, range and meaning."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Generic, TypeVar

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.parse_limits import shortened
from sharkpy.base.records import dataclass

T = TypeVar("T", int, float, bool, str)
N = TypeVar("N", int, float)

MOST_INTEGER = (1 << 63) - 1
MOST_NUMBER = 1_000_000_000
"""Upper bounds of settings without a range of their own: 64-bit integers, and about 30 years in seconds."""
_SIZE = re.compile(r"([+-]?)(\d{1,40})(\.\d{1,40})?([kmgt]?)b?", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """A key with its default and meaning. The default's type is the setting's type. Sizes take the units k, m, g, t.

    - `least` and `most` bound a number, which is at least 0 by default. `choices` are the permitted words.
    - `synonyms` are other keys for the setting. `patterns` are keys of similar settings for one bucket or account,
      whose name replaces *; they are stored separately.
    - `check` converts a text to a value, or raises ConfigurationError.
    - `is_guarded`: only the engine's owner may set it (memory, paths, Java, limits), not a session with restrictions.
    - `is_address`: the engine connects to it. Only a session that may choose connections sets it.
    """

    key: str
    default: T
    doc: str
    is_guarded: bool = False
    synonyms: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    check: Callable[[str], T] | None = None
    least: float = 0
    most: float | None = None
    choices: tuple[str, ...] = ()
    is_address: bool = False

    @property
    def type_name(self) -> str:
        """Type as the documentation names it; a size is an integer that may end in k, m, g or t."""
        return {bool: "boolean", int: "integer", float: "number"}.get(type(self.default), "string")

    @property
    def default_text(self) -> str:
        """Default as SET writes it."""
        default: object = self.default
        return str(default).lower() if isinstance(default, bool) else str(default)

    @property
    def allowed(self) -> str:
        """Values that the setting takes, as far as they are bounded: a range or a list of words."""
        default: object = self.default
        match default:
            case bool():
                return ""
            case int() | float() if self.most is not None:
                return f"{self.least:g} to {self.most:.15g}"
            case int() | float():
                return f"from {self.least:g}"
        return ", ".join(choice or "empty" for choice in self.choices)

    def parse(self, text: str) -> T:
        """Convert a text to a value. Raise ConfigurationError if it does not fit the setting's type and range."""
        if self.check is not None:
            return self.check(text)
        value: int | float | bool | str | None
        match self.default:
            case bool():
                value = _BOOLEANS.get(text.strip().lower())
            case int():
                value = self._within(_size(text))
            case float():
                value = self._within(_number(text))
            case _:
                value = text if not self.choices else next((c for c in self.choices if c == text.strip().lower()), None)
        if value is None:
            kind = type(self.default).__name__
            message = f'"{shortened(text)}" is not a value of {self.key} ({kind})'
            raise ConfigurationError(message, hint=self._range(), sqlstate="22023")
        return value

    @property
    def greatest(self) -> float:
        if self.most is not None:
            return self.most
        default: object = self.default
        return MOST_NUMBER if isinstance(default, float) else MOST_INTEGER

    def _within(self, value: N | None) -> N | None:
        return value if value is not None and self.least <= value <= self.greatest else None

    def _range(self) -> str | None:
        default: object = self.default
        match default:
            case bool():
                return "true or false"
            case int() | float():
                return f"from {self.least} to {self.greatest}"
        return " or ".join(choice or "nothing" for choice in self.choices) or None


def _size(text: str) -> int | None:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, fraction, unit = match.groups()
    if fraction is not None and not unit:
        return None
    size = int(float(f"{whole}{fraction}") * _UNITS[unit.lower()]) if fraction else int(whole) * _UNITS[unit.lower()]
    return -size if sign == "-" else size


def _number(text: str) -> float | None:
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return value if math.isfinite(value) else None
