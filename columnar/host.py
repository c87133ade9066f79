"""The machine of this process, the executor that it works for, and the host's name as Spark knows it."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from collections.abc import Iterator
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


@functools.cache
def machine_memory() -> int:
    """Bytes of memory for this process and its children: the machine's, or what the control group leaves of it."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_control_group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def _control_group_limits(memberships: Path, mount: Path) -> Iterator[int]:
    """Limits of the process's control group and of those around it, in both versions of their files."""
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
            # Without a limit a group says "max", or has no such file.
            with contextlib.suppress(OSError, ValueError):
                yield int((folder / name).read_text(encoding="ascii"))
            if folder == root:
                break


def private_memory() -> int:
    """Bytes of this process's own memory that are in use, without files and blocks that it has mapped; 0 where the
    system does not tell.
    """
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            resident, shared = file.read().split()[1:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")


def thread_ticks(thread: int) -> int:
    """Time that a thread of this process has computed, in the kernel's ticks; 0 where it has ended."""
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
