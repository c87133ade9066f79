"""Authentication by a file of lines `user:hash` with argon2id hashes. `#` starts a comment line."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import tempfile
import threading
from pathlib import Path

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.thrift.auth.authenticators import WRONG_CREDENTIALS, AuthenticationError
from sharkpy.thrift.auth.login import checked_password, checked_user_name
from sharkpy.thrift.config import ServerConfig

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Entries:
    version: object
    hashes: dict[str, str]
    wrong_lines: tuple[int, ...]
    decoy: str
    """Hash of no password, as costly as the real hashes: an unknown user takes as long as a known one."""


class PasswordFile:
    """Password file, read again after each change. Lines that are wrong by then are logged and match no user."""

    checks_at_once = 2
    """Each check takes 64 MB and several cores for ten milliseconds. Many at once could bring the server down."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._entries = _read(path)
        if self._entries.wrong_lines:
            lines = ", ".join(map(str, self._entries.wrong_lines))
            raise ConfigurationError(
                f'"{path}" has lines that are not user:$argon2…: {lines}',
                hint="sharkpy server --set-password USER writes them",
            )

    def authenticate(self, user: str, password: str) -> None:
        entries = self._current()
        known = entries.hashes.get(user)
        try:
            PasswordHasher().verify(known or entries.decoy, password)
        except (VerificationError, InvalidHashError):
            raise AuthenticationError(WRONG_CREDENTIALS) from None
        if known is None:
            raise AuthenticationError(WRONG_CREDENTIALS)

    def version(self) -> object:
        return self._current().version

    def _current(self) -> _Entries:
        with self._lock:
            if _version(self._path) != self._entries.version:
                self._entries = _read(self._path)
                for line in self._entries.wrong_lines:
                    _log.error("%s: line %d is not user:$argon2…; it lets nobody in", self._path, line)
            return self._entries


def open_password_file(config: ServerConfig) -> PasswordFile:
    """Open a password file. Raise ConfigurationError if the file is missing or has a wrong line."""
    if config.password_file is None or not config.password_file.is_file():
        raise ConfigurationError(
            f'there is no password file "{config.password_file}"',
            hint="sharkpy server --set-password USER makes it",
        )
    if config.password_file.stat().st_mode & 0o077:
        _log.warning("%s may be read by other users of this machine: chmod 600", config.password_file)
    return PasswordFile(config.password_file)


def set_password(path: Path, user: str, password: str) -> None:
    """Add `user`, or change the user's password. The file is replaced as a whole, and only its owner may read it.

    Raise ConfigurationError for a name or a password that no login could have.
    """
    try:
        checked_user_name(user.encode())
        checked_password(password.encode())
    except (AuthenticationError, UnicodeEncodeError) as error:
        raise ConfigurationError(str(getattr(error, "message", error))) from None
    if ":" in user or user.startswith("#") or user != user.strip():
        raise ConfigurationError(f'a user of a password file cannot be named "{user}"')
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if line.partition(":")[0].strip() != user]
    _replace(path, "".join(f"{line}\n" for line in (*kept, f"{user}:{PasswordHasher().hash(password)}")))


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _version(path: Path) -> object:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _read(path: Path) -> _Entries:
    """Read the file. Its version is taken first, so that a change during the read causes another read."""
    version = _version(path)
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        _log.error("%s cannot be read, nobody can log in: %s", path, error)
        lines = []
    hashes: dict[str, str] = {}
    wrong: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        user, _, hashed = (part.strip() for part in line.partition(":"))
        if not user or user in hashes or not _is_hash(hashed):
            wrong.append(number)
        else:
            hashes[user] = hashed
    return _Entries(version, hashes, tuple(wrong), _decoy(hashes))


def _is_hash(text: str) -> bool:
    try:
        extract_parameters(text)
    except InvalidHashError:
        return False
    return True


def _decoy(hashes: dict[str, str]) -> str:
    some = next(iter(hashes.values()), None)
    like = extract_parameters(some) if some else RFC_9106_LOW_MEMORY
    cost = f"m={like.memory_cost},t={like.time_cost},p={like.parallelism}"
    return f"$argon2id$v={like.version}${cost}${_random(like.salt_len)}${_random(like.hash_len)}"


def _random(size: int) -> str:
    return base64.b64encode(os.urandom(size)).decode().rstrip("=")
