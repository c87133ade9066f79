"""Variables in the text of a statement: `${name}`, `${hivevar:name}`, `${hiveconf:key}`, `${system:…}`, `${env:…}`."""

from __future__ import annotations

import getpass
import os
import platform
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sharkpy.base.errors import ParseError
from sharkpy.base.parse_limits import whole_number

_VARIABLE = re.compile(r"\$\{(?:(?P<space>hivevar|hiveconf|system|env|metaconf):)?(?P<name>[^\s${}:]+)\}")
_MOST_TEXT = 16 << 20
SUBSTITUTE = "hive.variable.substitute"
DEPTH = "hive.variable.substitute.depth"
DEFAULT_DEPTH = 40

SYSTEM: dict[str, Callable[[], str]] = {
    "user.name": getpass.getuser,
    "user.home": lambda: str(Path.home()),
    "user.dir": os.getcwd,
    "java.io.tmpdir": tempfile.gettempdir,
    "os.name": platform.system,
    "os.arch": platform.machine,
    "file.separator": lambda: os.sep,
    "path.separator": lambda: os.pathsep,
    "line.separator": lambda: os.linesep,
}
"""Java's system properties that scripts use; `SET system:key=value` overrides them."""


def substitute_variables(text: str, conf: Mapping[str, str], *, of_machine: bool = False) -> str:
    """Replace the variables in `text` by their values, also variables in values. Unknown variables stay.

    With `of_machine`, the environment and the system properties of this process are available. Raise ParseError if
    values refer to one another without end.
    """

    def value(found: re.Match[str]) -> str:
        known = variable(found["space"] or "hivevar", found["name"], conf, of_machine=of_machine)
        return found[0] if known is None else known

    if "${" not in text or conf.get(SUBSTITUTE, "true").lower() == "false":
        return text
    for _ in range(_depth(conf)):
        replaced = _VARIABLE.sub(value, text)
        if replaced == text:
            return text
        text = replaced
        if len(text) > _MOST_TEXT:
            break
    raise ParseError("the values of variables refer to one another without end")


def variable(space: str, name: str, conf: Mapping[str, str], *, of_machine: bool) -> str | None:
    """Return the value of `space:name`, or None. Settings of the session take precedence over the machine's."""
    key = name if space in ("hiveconf", "metaconf") else f"{space}:{name}"
    if (found := conf.get(key)) is not None or not of_machine:
        return found
    if space == "env":
        return os.environ.get(name)
    return SYSTEM[name]() if space == "system" and name in SYSTEM else None


def _depth(conf: Mapping[str, str]) -> int:
    depth = whole_number(conf.get(DEPTH, ""))
    return DEFAULT_DEPTH if depth is None else depth
