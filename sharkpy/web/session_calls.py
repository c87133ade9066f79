"""Session of the reader, login and logout."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus

from starlette.responses import Response

import sharkpy
from sharkpy.base.records import dataclass
from sharkpy.thrift.auth.authenticators import AuthenticationError
from sharkpy.web.errors import JSON, RefusedError
from sharkpy.web.links import FOLLOWED
from sharkpy.web.logins import Reader
from sharkpy.web.requests import ApiRequest, cookie_name, login_value
from sharkpy.web.shapes import json_bytes


@dataclass(frozen=True, slots=True)
class SessionAnswer:
    """The reader, and the server. `csrf_token` is null without a login."""

    user: str
    is_admin: bool
    needs_login: bool
    csrf_token: str | None
    version: str
    warehouse: str


@dataclass(frozen=True, slots=True)
class LoginBody:
    """Name and password. With `gives_token`, the login is a token for a program, and not a cookie."""

    user: str
    password: str
    gives_token: bool = False


@dataclass(frozen=True, slots=True)
class LoginAnswer(SessionAnswer):
    """The reader, and the server. `token`: the Bearer token, if the program has asked for it."""

    token: str | None = None


def session(request: ApiRequest) -> SessionAnswer:
    return _session(request, request.reader)


async def login(request: ApiRequest) -> Response:
    """Log a browser in, and set its cookie; or log a program in, and give it a token."""
    body, web = await request.body(LoginBody), request.web
    version = web.login_version
    try:
        user = await web.check_login(
            body.user.encode("utf-8", "replace"), body.password.encode("utf-8", "replace"), request.host
        )
    except AuthenticationError as error:
        raise RefusedError(HTTPStatus.UNAUTHORIZED, error.message, "28000") from None
    value, found = web.logins.add(user, version)
    reader = web.reader_of(user)
    answer = _session(request, Reader(user, reader.is_admin, reader.sees_all, found))
    if body.gives_token:
        with_token = LoginAnswer(**dataclasses.asdict(answer), token=value)
        return Response(json_bytes(with_token), media_type=JSON, headers={"Cache-Control": "no-store"})
    response = Response(json_bytes(answer), media_type=JSON)
    _set_cookie(response, request, value)
    return response


async def open_link(request: ApiRequest) -> Response:
    """Log a browser in by a link, set its cookie, and lead it to the page."""
    web = request.web
    to_page = Response(status_code=HTTPStatus.SEE_OTHER, headers={"Location": "./"})
    user = web.links.take(request.http.query_params.get("token", ""))
    if user is not None:
        value, _ = web.logins.add(user, web.login_version)
        _set_cookie(to_page, request, value)
        return to_page
    # A browser that goes back to its link is logged in.
    cookie = request.http.cookies.get(cookie_name(request.http, web), "")
    if cookie and web.logins.find(cookie, web.login_version) is not None:
        return to_page
    return Response(FOLLOWED, HTTPStatus.FORBIDDEN, media_type="text/html")


def _set_cookie(response: Response, request: ApiRequest, value: str) -> None:
    response.set_cookie(
        cookie_name(request.http, request.web),
        value,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.web.is_secure,
    )


def logout(request: ApiRequest) -> Response:
    """End the login of the cookie or the token."""
    name = cookie_name(request.http, request.web)
    request.web.logins.remove(login_value(request.http, request.web))
    response = Response(status_code=HTTPStatus.NO_CONTENT)
    response.delete_cookie(name, path="/", httponly=True, samesite="strict", secure=request.web.is_secure)
    return response


def _session(request: ApiRequest, reader: Reader) -> SessionAnswer:
    return SessionAnswer(
        user=reader.user,
        is_admin=reader.is_admin,
        needs_login=request.web.needs_login,
        csrf_token=reader.login.csrf_token if reader.login is not None else None,
        version=sharkpy.__version__,
        warehouse=str(request.parts.engine_session.catalog.warehouse_dir),
    )
