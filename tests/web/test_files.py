"""Files of the page: caching, compression, and paths that lead nowhere else."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sharkpy.web import files
from tests.web.conftest import Serve

SCRIPT = b"console.log(1)" * 100


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(b"<!doctype html><title>console</title>")
    (folder / "assets" / "index-B7xk_20a.js").write_bytes(SCRIPT)
    (folder / "assets" / "index-B7xk_20a.js.gz").write_bytes(gzip.compress(SCRIPT))
    (tmp_path / "secret").write_text("secret")
    monkeypatch.setattr(files.page_files, "__defaults__", (folder,))
    return folder


def test_the_page_and_its_files(serve: Serve, static: Path) -> None:
    with serve(knows_users=True).browser() as browser:
        page = browser.get("/")
        assert page.text.endswith("console</title>")
        assert page.headers["Cache-Control"] == "no-cache"
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        again = browser.get("/", headers={"If-None-Match": page.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert browser.head("/").status_code == 200
        script = browser.get("/assets/index-B7xk_20a.js")
        assert script.content == SCRIPT
        assert script.headers["Content-Encoding"] == "gzip"
        assert script.headers["Content-Type"].startswith("text/javascript")
        assert "immutable" in script.headers["Cache-Control"]
        for accepted in ("identity", "gzip;q=0", ""):
            plain = browser.get("/assets/index-B7xk_20a.js", headers={"Accept-Encoding": accepted})
            assert "Content-Encoding" not in plain.headers
            assert plain.content == SCRIPT


@pytest.mark.parametrize(
    "path", ["/../secret", "/%2e%2e/secret", "/assets/..%2f..%2fsecret", "/assets/", "//etc/passwd"]
)
def test_other_files_are_not_served(serve: Serve, static: Path, path: str) -> None:
    with serve().browser() as browser:
        request = browser.build_request("GET", "/")
        request.url = request.url.copy_with(raw_path=path.encode())
        assert browser.send(request).status_code == 404


def test_a_page_that_is_not_built(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.page_files, "__defaults__", (tmp_path,))
    with serve().browser() as browser:
        page = browser.get("/")
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "<code>make page</code>" in page.text
