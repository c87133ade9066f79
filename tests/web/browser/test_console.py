"""The built page of the console in headless Chromium, over a real server: see `sharkpy/web/page/tests/server`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from tests.web.browser.filled_server import FilledServer, filled_server

WEB = Path(sharkpy.__file__).parent / "web"
PAGE = WEB / "page"
SUITES = sorted(path.name for path in (PAGE / "tests/server").glob("*.test.ts"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
MISSING = [
    *(["Chromium (set CHROMIUM to its path)"] if shutil.which(CHROMIUM) is None else []),
    *(["Node"] if shutil.which("node") is None else []),
    *(["the page: `make page`"] if not (PAGE / "node_modules").exists() or not (WEB / "static").exists() else []),
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledServer]:
    with filled_server(tmp_path_factory.mktemp("console")) as served:
        yield served


@pytest.mark.parametrize("suite", SUITES)
def test_in_chromium(server: FilledServer, suite: str) -> None:
    command = ["node", "node_modules/vitest/vitest.mjs", "run", "--config", "vitest.server.config.ts", suite]
    environment = {**os.environ, "SHARKPY_SERVER": server.address, "CHROMIUM": CHROMIUM, "NO_COLOR": "1"}
    ran = subprocess.run(
        command, cwd=PAGE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
