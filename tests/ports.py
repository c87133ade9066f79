"""Ports of the loopback address for servers that do not choose one themselves, or that come back on the same."""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Iterator

_PORTS = range(20_000, 32_000)
"""Ports below the range that a system uses for outgoing connections and for requests of any port (from 32768 on Linux,
from 49152 on macOS). So no other process gets a port between its choice and the start of its server, which may take a
busy machine half a minute.
"""
_AREAS = 20
"""Processes of one run that never choose the same."""


def free_ports(count: int) -> list[int]:
    """Ports without a listener. This process returns a port again only after some hundred other ports."""
    tried = itertools.islice(_candidates, len(_PORTS) // _AREAS)
    free = list(itertools.islice(filter(_is_free, tried), count))
    assert len(free) == count, f"{count} ports are wanted, and {len(free)} of {_PORTS} are free"
    return free


def _of_this_process() -> Iterator[int]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    area = _PORTS[int(worker or 0) % _AREAS :: _AREAS]
    # Another run at the same time starts at another port.
    first = random.SystemRandom().randrange(len(area))
    return itertools.cycle([*area[first:], *area[:first]])


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


_candidates = _of_this_process()
