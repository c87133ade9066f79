"""Password files: accepted users, lines that are wrong, files that change."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth import AuthenticationError, login_for, set_password
from sharkpy.thrift.auth import password_file as password_file_module
from sharkpy.thrift.auth.password_file import PasswordFile, open_password_file
from sharkpy.thrift.config import ServerConfig

FAST = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    path.write_text(f"# people\n\nann:{FAST.hash('apple')}\nbob:{FAST.hash('bänana')}\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def lets_in(file: PasswordFile, user: str, password: str) -> bool:
    try:
        file.authenticate(user, password)
    except AuthenticationError as refused:
        if (refused.sqlstate, refused.message) != ("28000", "wrong user name or password"):
            raise
        return False
    return True


def test_who_may_enter(path: Path) -> None:
    file = PasswordFile(path)
    assert lets_in(file, "ann", "apple")
    assert lets_in(file, "bob", "bänana")
    for user, password in [("ann", "bänana"), ("ann", ""), ("eve", "apple"), ("Ann", "apple"), ("# people", "")]:
        assert not lets_in(file, user, password)


def test_an_unknown_user_takes_as_long_as_a_known_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Recording(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # noqa: A002 - as in the base
            with pytest.raises(VerifyMismatchError):  # it was computed, and not turned away for its form
                super().verify(hash, password)
            asked.append(str(hash))
            raise VerifyMismatchError

    file = PasswordFile(path)
    monkeypatch.setattr(password_file_module, "PasswordHasher", Recording)
    assert not lets_in(file, "ann", "wrong")
    assert not lets_in(file, "eve", "wrong")
    assert len(asked) == 2
    assert extract_parameters(asked[0]) == extract_parameters(asked[1])


def test_a_changed_file_counts_at_once(path: Path) -> None:
    file = PasswordFile(path)
    before = file.version()
    set_password(path, "ann", "avocado")
    assert file.version() != before
    assert lets_in(file, "ann", "avocado")
    assert not lets_in(file, "ann", "apple")
    assert lets_in(file, "bob", "bänana")
    path.unlink()
    assert not lets_in(file, "ann", "avocado")


def test_wrong_lines_are_named(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good = path.read_text(encoding="utf-8")
    file = PasswordFile(path)
    wrong = good + f"eve\n:{FAST.hash('x')}\ncat:plain\nann:{FAST.hash('y')}\ndog:$2b$12$abcdefg\n"
    path.write_text(wrong, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"lines that are not user:.*: 5, 6, 7, 8, 9"):
        PasswordFile(path)
    with caplog.at_level(logging.ERROR):
        assert lets_in(file, "ann", "apple")
        assert not lets_in(file, "cat", "plain")
    assert [record.args[1] for record in caplog.records if record.args] == [5, 6, 7, 8, 9]


def test_a_file_that_others_may_read_is_reported(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = ServerConfig(auth="password", password_file=path)
    open_password_file(config)
    assert caplog.records == []
    path.chmod(0o644)
    open_password_file(config)
    assert "may be read by other users" in caplog.text


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no password file"):
        open_password_file(ServerConfig(auth="password", password_file=tmp_path / "none"))


def test_set_password_keeps_the_rest_and_hides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    set_password(path, "ann", "apple")
    path.write_text("# people\n" + path.read_text())
    path.chmod(0o644)
    set_password(path, "bob", "banana")
    set_password(path, "ann", "avocado")
    assert path.stat().st_mode & 0o777 == 0o600
    assert [line.partition(":")[0] for line in path.read_text().splitlines()] == ["# people", "bob", "ann"]
    assert "avocado" not in path.read_text()
    assert lets_in(PasswordFile(path), "ann", "avocado")
    assert [entry.name for entry in tmp_path.iterdir()] == ["passwords"]


@pytest.mark.parametrize(
    ("user", "password"),
    [("", "x"), ("a:b", "x"), ("a\nb", "x"), ("#a", "x"), (" a", "x"), ("a", ""), ("a", "x" * 2000), ("a", "x\0y")],
)
def test_set_password_refuses_what_no_login_could_have(tmp_path: Path, user: str, password: str) -> None:
    with pytest.raises(ConfigurationError):
        set_password(tmp_path / "passwords", user, password)
    assert list(tmp_path.iterdir()) == []


def test_a_login_is_remembered_until_the_file_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = login_for(ServerConfig(auth="password", password_file=path), time.sleep)
    asked: list[str] = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(PasswordHasher, "verify", lambda *args: asked.append("x") or verify(*args))
    for _ in range(5):
        assert login.check(b"ann", b"apple", "here") == "ann"
    assert len(asked) == 1
    with pytest.raises(AuthenticationError):
        login.check(b"ann", b"wrong", "here")
    assert len(asked) == 2
    set_password(path, "ann", "avocado")
    with pytest.raises(AuthenticationError):
        login.check(b"ann", b"apple", "here")


def test_parallel_logins(path: Path) -> None:
    file = PasswordFile(path)
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(lets_in(file, "ann", "apple"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def test_an_empty_file_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("# nobody yet\n")
    assert not lets_in(PasswordFile(path), "ann", "apple")
