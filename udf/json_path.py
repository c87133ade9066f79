"""get_json_object: Hive's paths into JSON texts, which differ from JSONPath.

A path is `$` followed by names and indexes, separated by dots. After a name, only [n] and [*] are recognized. The name
of a list is taken from each object in it, and lists among the results are flattened. Several results are returned as a
list.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import ExecutionError
from sharkpy.base.parse_limits import check_json_nesting, whole_number

_NAME = re.compile(r"[a-zA-Z0-9_\-:\s]+")
_INDEX = re.compile(r"\[(\d++|\*)\]", re.ASCII)
_DECODER = json.JSONDecoder(strict=False)
Step = tuple[str | None, tuple[str, ...]]
"""The name (None for indexes of the root), and the indexes after it."""


_MOST_PATH = 1000
"""Characters of a path, which is cached."""


def _steps(path: str) -> tuple[Step, ...] | None:
    """Parse a path to steps, or return None if it is invalid."""
    if len(path) > _MOST_PATH:
        raise ExecutionError(
            f"get_json_object: a path of {len(path)} characters", hint=f"at most {_MOST_PATH}", sqlstate="22023"
        )
    return _parsed(path)


@lru_cache(maxsize=256)
def _parsed(path: str) -> tuple[Step, ...] | None:
    if not path.startswith("$") or path[1:2] not in ("", "[", "."):
        return None
    parts = path[1:].split(".")
    if path[1:2] == ".":
        parts = parts[1:]
    steps: list[Step] = []
    for position, part in enumerate(parts if path != "$" else []):
        indexes = tuple(_INDEX.findall(part))
        if position == 0 and part.startswith("["):
            steps.append((None, indexes))
        elif match := _NAME.match(part):
            steps.append((match.group(), indexes))
        else:
            return None
    return tuple(steps)


def get_json_object(text: str, path: str) -> str | None:
    """Return the part of a JSON text at a path. Text after the JSON value is ignored."""
    steps = _steps(path)
    if steps is None:
        return None
    try:
        check_json_nesting(text)
        value, _ = _DECODER.raw_decode(text.lstrip())
    except ValueError:
        return None
    if not isinstance(value, (dict, list)) or (steps and isinstance(value, list) != (steps[0][0] is None)):
        return None
    for name, indexes in steps:
        check_cancelled()
        if name is not None:
            value = _named(value, name)
        if indexes:
            value = _indexed(value, indexes)
    return _text(value)


def _named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    if not isinstance(value, list):
        return None
    found: list[Any] = []
    for item in value:
        inner = item.get(name) if isinstance(item, dict) else None
        if inner is not None:
            found += inner if isinstance(inner, list) else [inner]
    return found or None


def _indexed(value: Any, indexes: tuple[str, ...]) -> Any:
    found = [value]
    for index in indexes:
        lists = [item for item in found if isinstance(item, list)]
        found = [item for values in lists for item in _items(values, index)]
    return None if not found else found[0] if len(found) == 1 else found


def _items(values: list[Any], index: str) -> list[Any]:
    if index == "*":
        return values
    at = whole_number(index)
    return [] if at is None else values[at : at + 1]


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
