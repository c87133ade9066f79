"""Profiles of AWS's tools: keys in files, and keys that a program, a role or a login gives."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError, ConfigurationError
from sharkpy.base.settings import Conf
from sharkpy.sources.storage import aws_profile
from sharkpy.sources.storage.access import access_to
from tests.sources.test_storage_access import ID, KEY, PLACE, TOKEN, text
from tests.waiting import allowed, when


def test_the_profile_of_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config").write_text("[profile work]\nregion = eu\naws_access_key_id = a\naws_secret_access_key = b\n")
    (home / "credentials").write_text("[work]\naws_access_key_id=i\naws_secret_access_key=k%s\naws_session_token=t\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(home / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(home / "credentials"))
    assert access_to(PLACE, Conf(), Conf()).origin == "no keys"
    monkeypatch.setenv("AWS_PROFILE", "work")
    access = access_to(PLACE, Conf(), Conf())
    assert [text(access.secret(key)) for key in (ID, KEY, TOKEN)] == ["i", "k%s", "t"]
    assert access.value("fs.s3a.endpoint.region") == "eu"
    monkeypatch.setenv("AWS_PROFILE", "play")
    with pytest.raises(ConfigurationError, match='no profile "play"'):
        access_to(PLACE, Conf(), Conf())


def test_a_broken_profile_is_not_quoted(home: Path) -> None:
    (home / ".aws/credentials").write_text("aws_secret_access_key = hidden\n")
    with pytest.raises(ConfigurationError, match="not a file of profiles") as caught:
        access_to(PLACE, Conf(), Conf())
    assert "hidden" not in str(caught.value)


def test_a_role_without_its_source(home: Path) -> None:
    (home / ".aws/config").write_text("[default]\nrole_arn = arn:x\nsource_profile = other\nregion = eu\n")
    with pytest.raises(ConfigurationError, match=r'profile "default" could not be obtained: .*"other"') as caught:
        access_to(PLACE, Conf(), Conf())
    assert caught.value.sqlstate == "28000"
    keys = Conf({ID: "a", KEY: "b"})
    assert access_to(PLACE, keys, keys).value("fs.s3a.endpoint.region") == "eu"


def test_a_login_that_is_over(home: Path) -> None:
    login = "sso_session = one\nsso_account_id = 1\nsso_role_name = r\n"
    session = "[sso-session one]\nsso_region = eu-west-1\nsso_start_url = https://one.example/start\n"
    (home / ".aws/config").write_text(f"[default]\n{login}{session}")
    with pytest.raises(ConfigurationError, match="Error loading SSO Token"):
        access_to(PLACE, Conf(), Conf())


def program(home: Path, code: str) -> None:
    """A profile whose keys a program tells."""
    path = home / "program.py"
    path.write_text(f"import json, os, sys, time\nopen({str(home / 'calls')!r}, 'a').write('x')\n{code}\n")
    (home / ".aws/config").write_text(f"[default]\ncredential_process = {sys.executable} '{path}'\n")


def answer(home: Path, **more: object) -> None:
    keys = {"Version": 1, "AccessKeyId": "i", "SecretAccessKey": "k", "SessionToken": "t", **more}
    program(home, f"print({json.dumps(keys)!r})")


def calls(home: Path) -> int:
    return len((home / "calls").read_text())


def test_a_program_is_asked_once(home: Path) -> None:
    answer(home)
    for _ in range(3):
        access = access_to(PLACE, Conf(), Conf())
        assert [text(access.secret(key)) for key in (ID, KEY, TOKEN)] == ["i", "k", "t"]
    assert access.origin == 'keys of the profile "default"'
    assert calls(home) == 1


@pytest.mark.parametrize(("minutes", "asked"), [(14, 4), (20, 1)])
def test_a_program_is_asked_again_before_its_keys_end(home: Path, minutes: int, asked: int) -> None:
    end = datetime.now(UTC) + timedelta(minutes=minutes)
    answer(home, Expiration=end.strftime("%Y-%m-%dT%H:%M:%SZ"))
    keys = [text(access_to(PLACE, Conf(), Conf()).secret(KEY)) for _ in range(2)]
    assert keys == ["k", "k"]
    # botocore, too, asks again for keys that end within 15 minutes: twice for each of ours.
    assert calls(home) == asked


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sys.exit(3)", "CredentialRetrievalError"),
        ("print('hidden')", "JSONDecodeError"),
        ("print('[1, \"hidden\"]')", "could not be obtained"),
        ("print('[' * 100000)", "could not be obtained"),
        (
            "print(json.dumps({'Version': 2, 'AccessKeyId': 'a', 'SecretAccessKey': 'hidden'}))",
            "CredentialRetrievalError",
        ),
        ("print(json.dumps({'Version': 1, 'SecretAccessKey': 'hidden'}))", "CredentialRetrievalError"),
        ("print(json.dumps({'Version': 1, 'AccessKeyId': '', 'SecretAccessKey': 'hidden'}))", "are empty"),
        ("sys.stderr.write('hidden')\nsys.exit(1)", "CredentialRetrievalError"),
    ],
)
def test_a_program_that_tells_no_keys(home: Path, code: str, reason: str) -> None:
    program(home, code)
    with pytest.raises(ConfigurationError, match=reason) as caught:
        access_to(PLACE, Conf(), Conf())
    assert caught.value.sqlstate == "28000"
    assert "hidden" not in str(caught.value)


def test_a_program_that_is_not_there(home: Path) -> None:
    for command in ("/no/such/program", "'"):
        (home / ".aws/config").write_text(f"[default]\ncredential_process = {command}\n")
        with pytest.raises(ConfigurationError, match=r"could not be obtained: (FileNotFoundError|ValueError)"):
            access_to(PLACE, Conf(), Conf())


def is_running(home: Path) -> bool:
    return any(str(home / "program.py") in (one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))


def test_a_program_that_takes_too_long(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws_profile, "PROCESS_SECONDS", 0.3)
    program(home, "time.sleep(600)")
    with pytest.raises(ConfigurationError, match=r"took longer than 0\.3 s"):
        access_to(PLACE, Conf(), Conf())
    assert not is_running(home)


def test_a_program_ends_with_its_statement(home: Path) -> None:
    program(home, "time.sleep(600)")
    statement = Cancellation()
    thread = when(lambda: (home / "calls").exists(), statement.cancel)
    began = time.monotonic()
    with statement.active(), pytest.raises(CancelledError):
        access_to(PLACE, Conf(), Conf())
    thread.join()
    assert time.monotonic() - began < allowed(20)
    assert not is_running(home)


def test_statements_share_one_answer(home: Path) -> None:
    answer(home)
    threads = [threading.Thread(target=lambda: access_to(PLACE, Conf(), Conf())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls(home) == 1
