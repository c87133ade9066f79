"""Whether a program has a file open for writing, as far as the system tells."""

from __future__ import annotations

import errno
import fcntl
import os
import signal


def has_writer(path: str) -> bool | None:
    """True if a program has the file open for writing; None where the system does not say.

    Linux grants a read lease on a file that nobody writes, to its owner. The lease is given back at once; whoever opens
    the file for writing meanwhile waits for that, and the signal that tells us so is one that does nothing.
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
