"""Profile of AWS's tools: the files `config` and `credentials` in `~/.aws`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Hashable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from sharkpy.base.cached_property import cached_property
from sharkpy.base.cancellation import cancellable_lock, check_cancelled
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.records import dataclass
from sharkpy.base.secrets import Secret

LEAST_LEFT_SECONDS = 900.0
"""Least remaining time of cached keys: after that new ones are obtained."""
PROCESS_SECONDS = 30.0
"""Longest that it may take to obtain keys."""
_POLL_SECONDS = 0.05
_KEPT_SECONDS = 3600.0
"""Lifetime of keys without an expiration time."""
_OPTIONS = {
    "fs.s3a.access.key": "aws_access_key_id",
    "fs.s3a.secret.key": "aws_secret_access_key",
    "fs.s3a.session.token": "aws_session_token",
    "fs.s3a.endpoint.region": "region",
    "fs.s3a.endpoint": "endpoint_url",
}
_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
_FOUND_BY_BOTOCORE = ("credential_process", "role_arn", "sso_session", "sso_account_id", "web_identity_token_file")
"""Options of profiles whose keys come from a program, a role or a login."""

Options = Mapping[str, Secret]


class AwsProfile:
    """Profile that the environment chooses, for one lookup. Keys that are obtained together are used together."""

    def __init__(self) -> None:
        self.name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"

    def find(self, key: str) -> Secret | None:
        """Value of a setting `fs.s3a.…` in the profile; None if the profile does not set it.

        ConfigurationError for files that cannot be read, a chosen profile that does not exist, and keys that cannot be
        obtained.
        """
        option = _OPTIONS.get(key)
        if option is None:
            return None
        return (self._keys if option in _KEYS else self._options).get(option)

    @cached_property
    def _options(self) -> Options:
        home = Path("~/.aws").expanduser()
        config = _sections(os.environ.get("AWS_CONFIG_FILE") or str(home / "config"))
        credentials = _sections(os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or str(home / "credentials"))
        names = (f"profile {self.name}", *(("default",) if self.name == "default" else ()))
        found = [config[name] for name in names if name in config][:1]
        found += [credentials[self.name]] if self.name in credentials else []
        if not found and self.name != "default":
            raise ConfigurationError(
                f'there is no profile "{self.name}"', hint="AWS_PROFILE is to be the name of one in ~/.aws/config"
            )
        return {key: value for options in found for key, value in options.items()}

    @cached_property
    def _keys(self) -> Options:
        options = self._options
        if not any(key in options for key in _KEYS) and any(one in options for one in _FOUND_BY_BOTOCORE):
            return _obtained(self.name, tuple((key, value.reveal()) for key, value in options.items()))
        return options


def _sections(path: str) -> Mapping[str, Options]:
    file = Path(path).expanduser()
    try:
        status = file.stat()
        return _parsed(file, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigurationError(f'"{file}" cannot be read: {error.strerror}', sqlstate="58030") from None


@lru_cache(maxsize=8)
def _parsed(file: Path, modified_ns: int, size_bytes: int) -> Mapping[str, Options]:  # noqa: ARG001 - the file's version
    import configparser

    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section="")
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
    except (configparser.Error, UnicodeDecodeError):
        # Not chained: the error quotes lines of the file.
        raise ConfigurationError(f'"{file}" is not a file of profiles', hint="see AWS's documentation") from None
    return {name: {key: Secret(value) for key, value in parser.items(name)} for name in parser.sections()}


@dataclass(frozen=True, slots=True)
class _Answer:
    keys: Options
    until: float
    """End of the keys' lifetime, on the clock of `time.time`."""


_asking = threading.Lock()
_answers: dict[tuple[str, Hashable], _Answer] = {}
"""Last keys by profile and its options."""


def _obtained(name: str, options: Hashable) -> Options:
    """Keys that botocore obtains: the last ones, or new ones shortly before those expire."""
    with cancellable_lock(_asking):
        known = _answers.get((name, options))
        if known is None or known.until - time.time() < LEAST_LEFT_SECONDS:
            known = _answers[name, options] = _answer(name, _output(name))
        return known.keys


def _output(name: str) -> bytes:
    """Output of `aws_keys`, which is killed at the end of its time limit or when the statement is cancelled."""
    command = [sys.executable, "-m", "sharkpy.sources.storage.aws_keys", name]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=none, stdout=subprocess.PIPE, stderr=none, start_new_session=True) as process:
        try:
            return _waited_for(name, process)
        finally:
            if process.returncode is None:
                # With the program of a `credential_process`.
                os.killpg(process.pid, signal.SIGKILL)


def _waited_for(name: str, process: subprocess.Popen[bytes]) -> bytes:
    deadline = time.monotonic() + PROCESS_SECONDS
    while True:
        try:
            return process.communicate(timeout=_POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            check_cancelled()
        if time.monotonic() > deadline:
            raise _without_keys(name, f"took longer than {PROCESS_SECONDS:g} s")


def _answer(name: str, output: bytes) -> _Answer:
    try:
        found = json.loads(output)
    except ValueError:
        raise _without_keys(name, "could not be obtained") from None
    if "error" in found:
        raise _without_keys(name, found["error"])
    end = found.pop("expiration", None)
    until = datetime.fromisoformat(end).timestamp() if end else time.time() + _KEPT_SECONDS + LEAST_LEFT_SECONDS
    return _Answer({key: Secret(value) for key, value in found.items()}, until)


def _without_keys(name: str, reason: str) -> ConfigurationError:
    hint = 'pip install "sharkpy[lake-s3]"' if reason.startswith("need") else None
    return ConfigurationError(f'the keys of the profile "{name}" {reason}', hint=hint, sqlstate="28000")
