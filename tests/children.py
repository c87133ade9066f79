"""Other processes of the engine: each runs a text, as `python -c` does, but has the engine's modules from the start.

One process of each worker of the tests has loaded them, and the others are forked from it: importing them took most of
the time of a process that is killed a moment later.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import TextIO

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.loaded_engine"])


class Child:
    """Process that runs a text with arguments, in this folder and environment. `output` has what it prints."""

    def __init__(self, text: str, arguments: tuple[object, ...]) -> None:
        output, its_output = _CONTEXT.Pipe(duplex=False)
        its_input, entry = _CONTEXT.Pipe(duplex=False)
        errors = Connection(os.dup(2), readable=False)
        streams = (its_input, its_output, errors)
        place = (os.getcwd(), dict(os.environ))
        self._process: ForkServerProcess = _CONTEXT.Process(
            target=_run, args=(text, [str(one) for one in arguments], place, streams)
        )
        with its_input, its_output, errors:
            self._process.start()
        self.output = _text_of(output, "r")
        self.input = _text_of(entry, "w")

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """Send SIGKILL, which may take a moment."""
        self._process.kill()

    def wait(self, seconds: float = 120) -> int:
        """The status that it ends with: below zero for the signal that has ended it."""
        self._process.join(seconds)
        assert self._process.exitcode is not None, f"the process has not ended after {seconds:g} s"
        return self._process.exitcode

    def close(self) -> None:
        """End the process."""
        self.kill()
        self._process.join()
        self._process.close()
        self.output.close()
        self.input.close()


@contextmanager
def child(text: str, *arguments: object) -> Iterator[Child]:
    """A process that runs the text; it is killed at the end of the body."""
    made = Child(text, arguments)
    try:
        yield made
    finally:
        made.close()


def status_of(text: str, *arguments: object, seconds: float = 120) -> int:
    """Status that a process ends with which runs the text."""
    with child(text, *arguments) as process:
        return process.wait(seconds)


def _text_of(connection: Connection, mode: str) -> TextIO:
    with connection:
        return os.fdopen(os.dup(connection.fileno()), mode)


def _run(text: str, arguments: list[str], place: tuple[str, dict[str, str]], streams: tuple[Connection, ...]) -> None:
    """Run a text in this process, which was just forked."""
    for number, stream in enumerate(streams):
        with stream:
            os.dup2(stream.fileno(), number)
    sys.stdin = os.fdopen(0, closefd=False)
    folder, environment = place
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    exec(compile(text, "<child>", "exec"), {"__name__": "__main__"})
