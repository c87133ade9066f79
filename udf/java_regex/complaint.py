"""Errors of patterns. Each quotes the pattern, truncated if it is long."""

from __future__ import annotations

from sharkpy.base.errors import BindError, ExecutionError

_SHOWN = 100


def shown(pattern: str) -> str:
    return pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}…"


def not_a_pattern(pattern: str, why: str) -> BindError:
    return BindError(f'"{shown(pattern)}" is not a regular expression: {why}', sqlstate="2201B")


def too_complex(pattern: str, why: str) -> BindError:
    return BindError(f'regular expression "{shown(pattern)}" is too complex: {why}', sqlstate="54001")


def takes_too_long(pattern: str, text: str) -> ExecutionError:
    return ExecutionError(
        f'regular expression "{shown(pattern)}" takes too long on a text of {len(text):,} characters',
        hint="look-around, back-references, atomic groups, possessive quantifiers, and counts over 1,000 in groups"
        " are matched by trial and error; without them the time grows as the text does",
        sqlstate="54001",
    )
