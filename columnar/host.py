"""The machine of this process, the executor that it works for, and the host's name as Spark knows it."""

from __future__ import annotations

import functools
import os
import socket
from dataclasses import dataclass
from pathlib import Path

_HOST_OPTION = b"--hostname"


@dataclass(frozen=True, slots=True)
class ExecutorProcess:
    """An executor's process and the host that Spark places tasks by."""

    pid: int
    host: str


@functools.cache
def this_executor() -> ExecutorProcess:
    """The process above this one that Spark started with a host's name; elsewhere this process and machine."""
    pid = os.getpid()
    while (parent := _parent(pid)) > 0:
        pid = parent
        arguments = _command_line(pid)
        if _HOST_OPTION in arguments[:-1]:
            return ExecutorProcess(pid, arguments[arguments.index(_HOST_OPTION) + 1].decode())
    return ExecutorProcess(os.getpid(), socket.gethostname())


def is_beside(host: str) -> bool:
    """Whether this process can map what lies in the memory of `host`; "" is the machine of driver and tasks alike."""
    return not host or host == this_executor().host


def machine_memory() -> int:
    """Bytes of physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def _command_line(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
