"""Table of the API. To add an endpoint, add a row."""

from __future__ import annotations

from sharkpy.web import session_calls
from sharkpy.web.requests import Endpoint

API = "/api/v1"

ROUTES: list[Endpoint] = [
    Endpoint(
        "GET", f"{API}/session", session_calls.session, "The reader and the server", gives=session_calls.SessionAnswer
    ),
    Endpoint(
        "POST",
        f"{API}/login",
        session_calls.login,
        "Log in, and get a cookie",
        takes=session_calls.LoginBody,
        gives=session_calls.SessionAnswer,
        needs_login=False,
    ),
    Endpoint("POST", f"{API}/logout", session_calls.logout, "Log out"),
]
