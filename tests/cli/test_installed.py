"""The installed package, as programs in other folders find it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


@pytest.mark.slow
def test_the_wheel_has_the_page_of_the_console(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    given = ("pyproject.toml", "README.md", "LICENSE", "sharkpy/__init__.py", "sharkpy/web/__init__.py")
    built = ("index.html", "profile.html", "THIRD_PARTY.txt", "assets/index-B7xk_20a.js.gz")
    sources = ("sharkpy/web/page/package.json", "sharkpy/web/page/node_modules/preact/index.js")
    for name in (*given, *(f"sharkpy/web/static/{one}" for one in built), *sources):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / name).read_text() if name in given else name
        (clone / name).write_text(text)
    _python(clone, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ".")
    [wheel] = (clone / "dist").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"sharkpy/web/static/{one}" for one in built} <= names
    assert not [name for name in names if "/page/" in name]
    assert [name for name in names if name.endswith("licenses/LICENSE")]
