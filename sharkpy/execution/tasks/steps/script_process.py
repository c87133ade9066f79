"""Process of a script: its folder, standard streams and termination."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from sharkpy.base.errors import CancelledError, ExecutionError, SourceError
from sharkpy.plan.row_steps import Script

FAILED = "38000"
"""SQLSTATE for a failure of an external routine."""
_CHUNK_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_COPIED_BYTES = 16 << 20
_SHOWN_LINES = 8
_SHOWN_CHARACTERS = 2000


class ScriptProcess:
    """Process that runs a script over lines.

    Call, in order: `start`, `feed` and `chunks` in parallel, `wait`, `close`. Any thread may call `kill` at any time;
    it ends the script and all its child processes.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._folder = tempfile.TemporaryDirectory(prefix=f"sharkpy-{os.getpid()}-", ignore_cleanup_errors=True)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_killed = self._is_reaped = False
        self._errors = bytearray()
        self._error_reader: threading.Thread | None = None
        self.left_rows = False
        """True if the script ended, or closed its input, before it had read all rows."""

    def start(self) -> None:
        words = split_command(self._script.command)
        folder = self._folder.name
        for path in self._script.files:
            _copy_or_link(path, _placed(path, folder))
        for path in self._script.archives:
            _unpack(path, _placed(path, folder))
        words[0] = _program(words[0], folder) or words[0]
        environment = {**os.environ, **dict(self._script.environment)}
        with self._lock:
            if self._is_killed:
                raise CancelledError("the script was ended")
            try:
                self._process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=folder,
                    env=environment,
                    bufsize=0,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise self._not_started(words[0], error) from None
        self._error_reader = threading.Thread(target=self._read_errors, name="sharkpy-script-errors", daemon=True)
        self._error_reader.start()

    def feed(self, pieces: Iterable[memoryview]) -> None:
        """Write to the script's input and close it; the script may have ended before."""
        stdin = self._running.stdin
        if stdin is None:
            return
        try:
            for piece in pieces:
                rest = piece
                while rest:
                    rest = rest[os.write(stdin.fileno(), rest) :]
        except BrokenPipeError:
            self.left_rows = True
        finally:
            with contextlib.suppress(OSError):
                stdin.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the script's output as it arrives."""
        stdout = self._running.stdout
        if stdout is None:
            return
        descriptor = stdout.fileno()
        more_to_come = select.poll()
        more_to_come.register(descriptor, select.POLLIN)
        while data := os.read(descriptor, _READ_BYTES):
            parts, size = [data], len(data)
            while size < _CHUNK_BYTES and more_to_come.poll(0):
                more = os.read(descriptor, _READ_BYTES)
                if not more:
                    break
                parts.append(more)
                size += len(more)
            yield b"".join(parts)

    def wait(self) -> int:
        """Wait for the end. Return the exit code, or the negative number of the signal that ended it."""
        process = self._running
        # Until it is reaped, its process id is not reused, so that it can be killed safely.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            code = process.wait()
            self._is_reaped = True
        if self._error_reader is not None:
            self._error_reader.join()
        return code

    def check(self, code: int) -> None:
        """Raise ExecutionError if the exit code means a failure."""
        if code == 0:
            return
        what = f"ended with exit code {code}" if code > 0 else f"was ended by {_signal_name(-code)}"
        raise self.failure(what)

    def failure(self, what: str, hint: str | None = None) -> ExecutionError:
        """Return the error that the script did `what`, with the end of its standard error."""
        text = bytes(self._errors).decode("utf-8", "replace").strip()
        shown = " | ".join(line.strip() for line in text.splitlines()[-_SHOWN_LINES:] if line.strip())
        told = f"; it said: {shown[-_SHOWN_CHARACTERS:]}" if shown else "; it said nothing on standard error"
        return ExecutionError(f"the script '{self._script.command}' {what}{told}", hint=hint, sqlstate=FAILED)

    def kill(self) -> None:
        with self._lock:
            self._is_killed = True
            if self._process is not None and not self._is_reaped:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def abandon(self) -> None:
        """Kill the script and remove its folder from any thread. `close` may never be called after that."""
        self.kill()
        self._folder.cleanup()

    def close(self) -> None:
        self.kill()
        process = self._process
        if process is not None:
            if not self._is_reaped:
                self.wait()
            if self._error_reader is not None:
                self._error_reader.join()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        self._folder.cleanup()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise CancelledError("the script was ended")
        return self._process

    def _read_errors(self) -> None:
        """Keep the last bytes of standard error. Reading all of it keeps the script from blocking."""
        stderr, limit = self._running.stderr, max(self._script.error_bytes, 1)
        while stderr is not None and (data := os.read(stderr.fileno(), _READ_BYTES)):
            self._errors += data
            if len(self._errors) > limit:
                del self._errors[:-limit]

    def _not_started(self, word: str, error: OSError | ValueError) -> ExecutionError:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = None
        if isinstance(error, FileNotFoundError):
            hint = "name a program in PATH, give the full path, or ADD FILE first"
        elif isinstance(error, PermissionError):
            hint = "make the file executable, or name the program that runs it: python3 script.py"
        message = f"the script '{self._script.command}' cannot be started: {word}: {reason}"
        return ExecutionError(message, hint=hint, sqlstate=FAILED)


def split_command(command: str) -> list[str]:
    """Return the words separated by spaces. Quotes of either kind keep spaces, and nothing else is special."""
    words: list[str] = []
    word, quote, is_word = "", "", False
    for character in command:
        if quote:
            if character == quote:
                quote = ""
            else:
                word += character
        elif character in "'\"":
            quote, is_word = character, True
        elif character.isspace():
            if is_word:
                words.append(word)
            word, is_word = "", False
        else:
            word, is_word = word + character, True
    if is_word:
        words.append(word)
    return words


def _program(word: str, folder: str) -> str | None:
    """Return the path of the program: an absolute path, a file of the working folder, or a program of PATH."""
    if Path(word).is_absolute():
        return word
    own = Path(folder, word)
    if own.is_file():
        return str(own)
    return shutil.which(word)


def _placed(path: str, folder: str) -> Path:
    """Return the path of a file or archive for the script: its own name in the folder."""
    if not Path(path).exists():
        raise SourceError(f'cannot read "{path}": there is no such file', hint="add it again, or DELETE FILE it")
    return Path(folder, Path(path).name)


def _copy_or_link(path: str, place: Path) -> None:
    """Copy a small file into the folder as executable. Link a large one or a folder."""
    if place.exists():
        return
    if Path(path).is_dir() or Path(path).stat().st_size > _COPIED_BYTES:
        place.symlink_to(path)
        return
    shutil.copyfile(path, place)
    place.chmod(0o755)


def _unpack(path: str, place: Path) -> None:
    kind = "zip" if path.lower().endswith((".jar", ".zip")) else None
    try:
        shutil.unpack_archive(path, place, kind, filter=None if kind else "data")
    except (OSError, ValueError, shutil.ReadError) as error:
        raise SourceError(f'cannot unpack "{path}": {error}') from None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
