"""Check for programs that have a file open for writing."""

from __future__ import annotations

import errno
import fcntl
import os
import signal


def has_writer(path: str) -> bool | None:
    """Return True if a program has the file open for writing, or None if the system does not say.

    Linux grants a file's owner a read lease if no program has the file open for writing. The lease is returned at once.
    A program that opens the file for writing meanwhile waits for that. The signal that reports this has no effect.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(file)
    return False
