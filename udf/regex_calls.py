"""Kernels of Java regular expressions, by Python's."""

from __future__ import annotations

import re

from sharkpy.udf.java_regex import compile_java, python_template


def rlike(text: str, pattern: str) -> bool:
    return compile_java(pattern).search(text) is not None


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    parts = python_template(replacement)

    def expand(match: re.Match[str]) -> str:
        return "".join(
            (match.group(part) or "")
            if isinstance(part, int)
            else (match.group(part[1:]) or "")
            if part.startswith("\x00")
            else part
            for part in parts
        )

    return compile_java(pattern).sub(expand, text)


def regexp_extract(text: str, pattern: str, group: int) -> str:
    match = compile_java(pattern).search(text)
    return (match.group(group) or "") if match else ""


def regexp_extract_all(text: str, pattern: str, group: int) -> list[str]:
    return [match.group(group) or "" for match in compile_java(pattern).finditer(text)]


def split(text: str, pattern: str, limit: int) -> list[str]:
    """String.split(pattern, limit) with trailing empty strings kept."""
    parts: list[str] = []
    start = 0
    for match in compile_java(pattern).finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    return [*parts, ""] if compile_java(pattern).fullmatch("") and text and limit <= 0 else parts
