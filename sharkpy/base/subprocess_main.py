"""The subprocess that runs calls for another process: see `subprocess_call`."""

from __future__ import annotations

import contextlib
import importlib
import json
import pickle
import resource
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from sharkpy.base.errors import SharkError
from sharkpy.base.subprocess_call import IDLE_SECONDS, LENGTH

_MOST_BYTES = 2 << 30
"""Limit on the address space of the process."""


def main() -> None:
    with contextlib.suppress(OSError):
        # If memory runs out, the system kills this process and not the one that it works for.
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    given, taken = sys.stdin.buffer, sys.stdout.buffer
    while select.select([given], [], [], IDLE_SECONDS)[0] and (head := given.read(LENGTH.size)):
        request = given.read(LENGTH.unpack(head)[0])
        try:
            parts = _result_of(request)
            facts: dict[str, object] = {"sizes": [len(part) for part in parts]}
        except Exception as error:  # noqa: BLE001  any error of the library is reported
            parts, facts = [], _facts_of(error)
        _write(taken, json.dumps(facts).encode(), parts)


def _result_of(request: bytes) -> Sequence[bytes]:
    name, arguments, cpu_seconds = pickle.loads(request)  # noqa: TID251  from the process that started this one
    # The signal also ends the process within a native call.
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        module, _, function = name.partition(":")
        found: Sequence[bytes] = getattr(importlib.import_module(module), function)(*arguments)
        return found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _facts_of(error: Exception) -> dict[str, object]:
    match error:
        case SharkError(message=message, hint=hint, sqlstate=sqlstate):
            return {"error": message, "kind": type(error).__name__, "hint": hint, "sqlstate": sqlstate}
        case MemoryError():
            return {"error": f"it needs more than {_MOST_BYTES >> 30} GB of memory"}
    return {"error": str(error)}


def _write(taken: BinaryIO, facts: bytes, parts: Sequence[bytes]) -> None:
    taken.write(LENGTH.pack(len(facts)) + facts)
    taken.writelines(parts)
    taken.flush()


if __name__ == "__main__":
    main()
