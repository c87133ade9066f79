"""Profile of AWS's tools: the files `config` and `credentials` in `~/.aws`."""

from __future__ import annotations

import configparser
import json
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path

from sharkpy.base.cancellation import cancellable_lock, check_cancelled
from sharkpy.base.errors import ConfigurationError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.secrets import Secret

LEAST_LEFT_SECONDS = 900.0
"""Least remaining time of cached keys: after that a program is asked for new ones."""
PROCESS_SECONDS = 30.0
"""Longest that a program may run."""
_POLL_SECONDS = 0.05
_KEPT_SECONDS = 3600.0
"""Lifetime of keys without an expiration time."""
_MOST_ANSWER = 1 << 16
_OPTIONS = {
    "fs.s3a.access.key": "aws_access_key_id",
    "fs.s3a.secret.key": "aws_secret_access_key",
    "fs.s3a.session.token": "aws_session_token",
    "fs.s3a.endpoint.region": "region",
    "fs.s3a.endpoint": "endpoint_url",
}
_ANSWERED = {
    "aws_access_key_id": "AccessKeyId",
    "aws_secret_access_key": "SecretAccessKey",
    "aws_session_token": "SessionToken",
}
"""Names in the answer of a program."""
_ELSEWHERE = ("role_arn", "sso_session", "sso_account_id", "web_identity_token_file")
"""Options of profiles whose keys only AWS's own tools can get."""

Options = Mapping[str, Secret]


class AwsProfile:
    """Profile that the environment chooses, for one lookup. All keys from a program come from the same answer."""

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
        return (self._keys if option in _ANSWERED else self._options).get(option)

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
        if _ANSWERED.keys() & options.keys():
            return options
        if (command := options.get("credential_process")) is not None:
            return _asked(self.name, command.reveal())
        if any(one in options for one in _ELSEWHERE):
            hint = f"put them into the environment: aws configure export-credentials --profile {self.name} --format env"
            raise ConfigurationError(f'the keys of the profile "{self.name}" belong to a role or a login', hint=hint)
        return {}


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
_answers: dict[tuple[str, str], _Answer] = {}
"""Last answers of programs, by profile and command."""


def _asked(name: str, command: str) -> Options:
    """Keys from a profile's program: its last answer, or a new one shortly before that expires."""
    with cancellable_lock(_asking):
        known = _answers.get((name, command))
        if known is None or known.until - time.time() < LEAST_LEFT_SECONDS:
            known = _answers[name, command] = _parsed_answer(name, _output(name, command))
        return known.keys


def _output(name: str, command: str) -> bytes:
    """Output of a program, which is killed at the end of its time limit or when the statement is cancelled."""
    try:
        process = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise _without_keys(name, f"did not start ({type(error).__name__})") from None
    with process:
        try:
            output = _waited_for(name, process)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise _without_keys(name, f"ended with code {process.returncode}")
    return output


def _waited_for(name: str, process: subprocess.Popen[bytes]) -> bytes:
    deadline = time.monotonic() + PROCESS_SECONDS
    while True:
        try:
            return process.communicate(timeout=_POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            check_cancelled()
        if time.monotonic() > deadline:
            raise _without_keys(name, f"took longer than {PROCESS_SECONDS:g} s")


def _parsed_answer(name: str, output: bytes) -> _Answer:
    try:
        text = output[:_MOST_ANSWER].decode()
        check_json_nesting(text)
        values = json.loads(text)
        if values["Version"] != 1 or not values["AccessKeyId"] or not values["SecretAccessKey"]:
            raise ValueError("no keys")
        keys = {option: Secret(str(values[word])) for option, word in _ANSWERED.items() if values.get(word)}
        end = values.get("Expiration")
        until = datetime.fromisoformat(end).timestamp() if end else time.time() + _KEPT_SECONDS + LEAST_LEFT_SECONDS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # Not quoted: the output may contain a key.
        raise _without_keys(name, "told no keys in JSON") from None
    return _Answer(keys, until)


def _without_keys(name: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f'credential_process of the profile "{name}" {reason}', sqlstate="28000")
