"""The machine of this process, its executor, and the name that Spark uses for the host."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from sharkpy.base.records import dataclass

_HOST_OPTION = b"--hostname"


@dataclass(frozen=True, slots=True)
class ExecutorProcess:
    """The process of an executor, and the host name by which Spark places tasks."""

    pid: int
    host: str


@functools.cache
def this_executor() -> ExecutorProcess:
    """Return the ancestor process that Spark started with a host name, or else this process and machine."""
    pid = os.getpid()
    while (parent := _parent(pid)) > 0:
        pid = parent
        arguments = _command_line(pid)
        if _HOST_OPTION in arguments[:-1]:
            return ExecutorProcess(pid, arguments[arguments.index(_HOST_OPTION) + 1].decode())
    return ExecutorProcess(os.getpid(), socket.gethostname())


def is_same_host(host: str) -> bool:
    """Return whether this process can map files in the memory of `host`. "" is the machine of the driver and
    its tasks.
    """
    return not host or host == this_executor().host


@functools.cache
def machine_memory() -> int:
    """Return the bytes of memory for this process and its children: the machine's, or less if a control group limits
    it.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_control_group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def _control_group_limits(memberships: Path, mount: Path) -> Iterator[int]:
    """Yield the limits of the process's control group and its parents, in both versions of cgroups."""
    try:
        lines = memberships.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, name = (mount / "memory", "memory.limit_in_bytes") if controllers else (mount, "memory.max")
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            # A group without a limit says "max", or has no such file.
            with contextlib.suppress(OSError, ValueError):
                yield int((folder / name).read_text(encoding="ascii"))
            if folder == root:
                break


def private_memory() -> int:
    """Return the bytes in use by this process, without mapped files and blocks, or 0 if the system does not report
    them.
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            resident, shared = file.read().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def thread_ticks(thread: int) -> int:
    """Return the CPU time of a thread of this process in kernel ticks, or 0 if the thread has ended."""
    try:
        with open(f"/proc/self/task/{thread}/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


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
