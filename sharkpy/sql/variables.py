"""Variables in the text of a statement: ${name} and ${hivevar:name}, and settings: ${hiveconf:key}."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sharkpy.errors import ParseError

_VARIABLE = re.compile(r"\$\{(?:(?P<space>hivevar|hiveconf):)?(?P<name>[^\s${}:]+)\}")
_MOST_ROUNDS = 40
_MOST_TEXT = 16 << 20


def substitute_variables(text: str, conf: Mapping[str, str]) -> str:
    """`text` with the values of its variables, and of those in them; what `conf` does not have stays as it is.

    ParseError where values refer to one another without end.
    """

    def value(found: re.Match[str]) -> str:
        prefix = "" if found["space"] == "hiveconf" else "hivevar:"
        return conf.get(f"{prefix}{found['name']}", found[0])

    if "${" not in text:
        return text
    for _ in range(_MOST_ROUNDS):
        replaced = _VARIABLE.sub(value, text)
        if replaced == text:
            return text
        text = replaced
        if len(text) > _MOST_TEXT:
            break
    raise ParseError("the values of variables refer to one another without end")
