"""The installed package, as programs in other folders find it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CONNECTS = "import sharkpy, thrift; print(callable(sharkpy.connect), thrift.__file__ is not None)"


def _python(folder: Path, *arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_folder_of_its_name_does_not_hide_it(tmp_path: Path) -> None:
    """A clone next to the program is a folder called sharkpy, which Python would take for a package."""
    (tmp_path / "sharkpy").mkdir()
    assert _python(tmp_path, "-c", CONNECTS) == "True True\n"


def test_python_m_is_the_command(tmp_path: Path) -> None:
    (tmp_path / "sharkpy").mkdir()
    assert _python(tmp_path, "-m", "sharkpy", "--warehouse", "w", "--format", "csv", "-e", "SELECT 2") == "_c0\n2\n"
