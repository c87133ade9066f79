"""The table of pages: paths, names in them, logins, and answers for unknown paths."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from sharkpy.thrift import pages
from sharkpy.thrift.pages import (
    HTML,
    PAGES,
    Page,
    PageContent,
    PageRequest,
    answer_page,
    document,
    preformatted,
    section,
    table,
)


class NotAskedError(Exception):
    """A login that was wanted."""


def refuse_login() -> str:
    raise NotAskedError


def echo(request: PageRequest) -> PageContent | None:
    return None if request.name == "none" else PageContent(f"{request.name} {request.user}".encode())


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Parts of a server, for pages that do not look at it."""
    table = {"/all": Page("text/plain", echo, needs_login=False), "/of/{name}": Page(HTML, echo)}
    monkeypatch.setattr(pages, "PAGES", {**PAGES, **table})
    return None


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/all", b" "),
        ("/of/one", b"one ada"),
        ("/of/one/", b"one ada"),
        ("/of/%7Bname%7D", b"%7Bname%7D ada"),
    ],
)
def test_a_path_finds_its_row(nothing: Any, path: str, body: bytes) -> None:
    answer = answer_page(path, nothing, lambda: "ada")
    assert (answer.status, answer.body) == (HTTPStatus.OK, body)
    assert answer.content_type == ("text/plain" if path == "/all" else HTML)


@pytest.mark.parametrize("path", ["", "/", "/al", "/all/x", "/of", "/of/", "/of//", "/of/one/more", "/of/none", "/one"])
def test_a_path_without_a_row(nothing: Any, path: str) -> None:
    answer = answer_page(path, nothing, lambda: "ada")
    assert (answer.status, answer.content_type) == (HTTPStatus.NOT_FOUND, "text/plain")
    assert b"/healthz" in answer.body


def test_a_login_is_asked_for_before_a_page_is_made(nothing: Any) -> None:
    assert answer_page("/all", nothing, refuse_login).status == HTTPStatus.OK
    for path in ("/of/one", "/of/none"):
        with pytest.raises(NotAskedError):
            answer_page(path, nothing, refuse_login)


def test_pages_without_a_login_are_those_that_show_nobodys_data() -> None:
    assert {path for path, page in PAGES.items() if not page.needs_login} == {
        "/healthz",
        "/metrics",
        "/operations/{name}",
    }


def test_whatever_clients_wrote_is_text() -> None:
    forged = "</pre><script>"
    page = document(forged, [section(forged, preformatted(forged)), table([forged], [[forged]])]).decode()
    assert forged not in page
    assert page.count("&lt;/pre&gt;&lt;script&gt;") == 6
