"""Kernels of Java regular expressions, for patterns that DuckDB's RE2 cannot express or matches differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sharkpy.udf.java_regex.matching import Matcher, matcher
from sharkpy.udf.java_regex.replacement import no_group, replacement_parts

if TYPE_CHECKING:
    import regex


def rlike(text: str, pattern: str) -> bool:
    """Return whether a part of `text` matches. An empty pattern matches nothing, as in Hive."""
    return bool(pattern) and matcher(pattern).search(text) is not None


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    found = matcher(pattern)
    template: list[str | int] | None = None
    parts: list[str] = []
    end = 0
    for match in found.finditer(text):
        # A missing group is an error only at a match, as in Java.
        template = replacement_parts(replacement, found.pattern) if template is None else template
        parts.append(text[end : match.start()])
        parts += (part if isinstance(part, str) else match[part] or "" for part in template)
        end = match.end()
    parts.append(text[end:])
    return "".join(parts)


def regexp_extract(text: str, pattern: str, group: int) -> str:
    found = matcher(pattern)
    match = found.search(text)
    return _group(match, group, found) if match else ""


def regexp_extract_all(text: str, pattern: str, group: int) -> list[str]:
    found = matcher(pattern)
    return [_group(match, group, found) for match in found.finditer(text)]


def _group(match: regex.Match[str], group: int, found: Matcher) -> str:
    if not 0 <= group <= found.pattern.groups:
        raise no_group(found.pattern, group)
    return match[group] or ""


def split(text: str, pattern: str, limit: int) -> list[str]:
    """String.split(pattern, limit) with trailing empty strings kept."""
    parts: list[str] = []
    start = 0
    found = matcher(pattern)
    for match in found.finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    return [*parts, ""] if text and limit <= 0 and found.fullmatch("") else parts
