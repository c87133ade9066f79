"""Options of streams and sinks, each with a check of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sharkpy.base.digits import whole_number
from sharkpy.base.errors import BindError, did_you_mean

_MOST = 1 << 50


def count(least: int, most: int = _MOST) -> Callable[[str], bool]:
    """Return a check for a number within bounds."""

    def check(text: str) -> bool:
        number = whole_number(text)
        return number is not None and least <= number <= most

    return check


@dataclass(frozen=True, slots=True)
class StreamOption:
    """An option of a kind of streams. `check` returns False for an unsupported value."""

    name: str
    default: str
    check: Callable[[str], bool]
    doc: str
    is_needed: bool = False


def check_options(what: str, known: Sequence[StreamOption], given: Iterable[tuple[str, str]]) -> None:
    """Raise BindError for an unknown option of `what`, an unsupported value, or a missing option."""
    given, options = tuple(given), {one.name: one for one in known}
    for one in known:
        if one.is_needed and one.name not in dict(given):
            raise BindError(f"{what} needs the option {one.name}: {one.doc}", sqlstate="22023")
    for name, value in given:
        if name not in options:
            hint = did_you_mean(name, options) or f"there are {', '.join(options) or 'none'}"
            raise BindError(f'{what} has no option "{name}"', hint=hint, sqlstate="22023")
        if not options[name].check(value):
            raise BindError(f'"{value}" is not a value of the option {name}', sqlstate="22023")
