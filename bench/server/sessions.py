"""Memory of the server's processes after 10,000 sessions, opened and closed, compared with that after some hundred.

Each has a connection of its own, asks two queries and leaves the second one open; every third vanishes without a word.
"""

from __future__ import annotations

import threading
import time

import psutil

from bench.figure import Figure
from bench.server.raw_client import RawClient
from bench.server.servers import Server, sharkpy_server

SESSIONS, WARM_UP, THREADS = 10_000, 600, 4
MOST_MB = 20


def measure(runs: int) -> list[Figure]:  # noqa: ARG001 - their number is fixed
    with sharkpy_server("NOSASL") as server:
        _open_and_close(server, WARM_UP)
        before = _memory(server)
        start = time.perf_counter()
        _open_and_close(server, SESSIONS)
        seconds = time.perf_counter() - start
        after = _memory(server)
    grown = after - before
    value = f"{grown:.1f} MB, from {before:.0f} MB to {after:.0f} MB"
    aims = (f"at most {MOST_MB} MB", grown <= MOST_MB)
    return [
        Figure(f"resident memory after {SESSIONS:,} sessions: growth", value, *aims, is_key=True),
        Figure("sessions with two queries each, a second", f"{SESSIONS / seconds:.0f}"),
    ]


def _open_and_close(server: Server, sessions: int) -> None:
    def run(place: int) -> None:
        for number in range(place, sessions, THREADS):
            client = RawClient(server.port)
            client.query("SELECT 1")
            client.execute(f"SELECT {number}")
            if number % 3:
                client.close_session()
            client.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _memory(server: Server) -> float:
    """Megabytes of memory, once the remains of the last clients are gone."""
    time.sleep(2)
    process = psutil.Process(server.process_id)
    return float(sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])) / 1e6
