"""Options before a magic's statement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from IPython.core.error import UsageError

from sharkpy.base.errors import did_you_mean

_OPTION = re.compile(r"""\s*(-\w|--[A-Za-z][\w-]*)(?:=|\s+|$)""")
_VALUE = re.compile(r"""("[^"]*"|'[^']*'|[^\s-]\S*)\s*""")
_NAMES = {
    "-o": "out",
    "--out": "out",
    "-n": "limit",
    "--limit": "limit",
    "-e": "explain",
    "--explain": "explain",
    "--connect": "connect",
    "--master": "master",
    "--set": "set",
}


@dataclass(slots=True)
class Options:
    out: str | None = None
    limit: int | None = None
    explain: bool = False
    connect: str | None = None
    """Warehouse; empty for the default one."""
    master: str = "local[*]"
    settings: dict[str, str] = field(default_factory=dict)
    statement: str = ""
    """Text after the options."""


def parse_options(line: str) -> Options:
    """Parse the options. Raise UsageError if one is unknown or lacks its value. `-- text` is a comment of HiveQL, not
    an option.
    """
    options = Options()
    while match := _OPTION.match(line):
        name = _NAMES.get(match.group(1))
        if name is None:
            hint = did_you_mean(match.group(1), _NAMES) or f"there are {', '.join(_NAMES)}"
            raise UsageError(f'no option "{match.group(1)}"; {hint}')
        line = line[match.end() :]
        if name == "explain":
            options.explain = True
            continue
        value = _VALUE.match(line)
        line = line[value.end() :] if value else line
        _set(options, name, value.group(1).strip("\"'") if value else None)
    options.statement = line
    return options


def _set(options: Options, name: str, value: str | None) -> None:
    if value is None and name != "connect":
        raise UsageError(f"the option --{name} takes a value")
    text = value or ""
    if name == "limit":
        if not text.isdigit():
            raise UsageError(f'--limit takes a number of rows, not "{text}"')
        options.limit = int(text)
    elif name == "out":
        if not text.isidentifier():
            raise UsageError(f'--out takes the name of a variable, not "{text}"')
        options.out = text
    elif name == "set":
        key, is_pair, setting = text.partition("=")
        if not is_pair:
            raise UsageError(f'--set takes key=value, not "{text}"')
        options.settings[key] = setting
    elif name == "connect":
        options.connect = text
    else:
        options.master = text
