"""Small requests without obstore, with limits on time and bytes, and without redirects."""

from __future__ import annotations

from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

_SECONDS = 10.0


def answered(request: Request, most_bytes: int) -> tuple[int, bytes]:
    """Status and body of the answer; at most `most_bytes` are read. OSError if there is no answer."""
    try:
        with build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
            return response.status, response.read(most_bytes)
    except HTTPError as error:
        with error:
            return error.code, error.read(most_bytes)
    except HTTPException as error:
        raise ConnectionError(type(error).__name__) from None


class _NoRedirects(HTTPRedirectHandler):
    """Refuses redirects: a signature is for one host."""

    def redirect_request(self, *_: object) -> None:
        return None
