"""Swap of two folders: readers of the name find either the old or the new one."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
"""Flag of Linux's renameat2(2)."""
_NOT_THERE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def swap(first: str, second: str) -> None:
    """Swap the names of two folders, in one step if the system can exchange names.

    Otherwise `second` does not exist for a moment. OSError if the system refuses.
    """
    exchange = _renameat2()
    if exchange is not None:
        if exchange(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code not in _NOT_THERE:
            raise OSError(code, os.strerror(code), second)
    aside = Path(first).with_name(f"{Path(first).name}.aside")
    Path(second).rename(aside)
    try:
        Path(first).rename(second)
    except OSError:
        aside.rename(second)
        raise
    aside.rename(first)


@cache
def _renameat2() -> Any:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function
