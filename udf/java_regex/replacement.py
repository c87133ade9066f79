"""Replacement texts of Java: `$1` and `${name}` are replaced by groups, a backslash makes the next character plain."""

from __future__ import annotations

import re

from sharkpy.base.errors import ExecutionError
from sharkpy.udf.java_regex.complaint import shown
from sharkpy.udf.java_regex.pattern import JavaPattern

_GROUP = re.compile(r"\$(?:([0-9])|\{([A-Za-z][A-Za-z0-9]*)\})")


def replacement_parts(replacement: str, pattern: JavaPattern) -> list[str | int]:
    """Split a replacement into texts and numbers of groups."""
    names = dict(pattern.names)
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        char = replacement[position]
        if char == "\\" and position + 1 < len(replacement):
            parts.append(replacement[position + 1])
            position += 2
            continue
        if group := _GROUP.match(replacement, position):
            number = int(group[1]) if group[1] else names.get(group[2])
            if number is None or number > pattern.groups:
                raise no_group(pattern, group[1] or group[2])
            position = group.end()
            # Further digits belong to the number while there is such a group.
            while group[1] and (digit := replacement[position : position + 1]) and digit in "0123456789":
                if number * 10 + int(digit) > pattern.groups:
                    break
                number, position = number * 10 + int(digit), position + 1
            parts.append(number)
            continue
        parts.append(char)
        position += 1
    return parts


def no_group(pattern: JavaPattern, group: int | str) -> ExecutionError:
    return ExecutionError(f'regular expression "{shown(pattern.text)}" has no group {group}', sqlstate="2201B")


def re2_replacement(replacement: str, pattern: JavaPattern) -> str | None:
    """Return the text in RE2's syntax, or None if it refers to a group beyond the ninth or to a missing group."""
    try:
        parts = replacement_parts(replacement, pattern)
    except ExecutionError:
        return None
    if any(isinstance(part, int) and part > 9 for part in parts):
        return None
    return "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
