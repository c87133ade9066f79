"""Small requests beside obstore's: bounded in time and bytes, and not sent on to another host."""

from __future__ import annotations

from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

_SECONDS = 10.0


def answered(request: Request, most_bytes: int) -> tuple[int, bytes]:
    """Status and body of the answer, of which no more than `most_bytes` are read; OSError for none."""
    try:
        with build_opener(_NoRedirects).open(request, timeout=_SECONDS) as response:
            return response.status, response.read(most_bytes)
    except HTTPError as error:
        with error:
            return error.code, error.read(most_bytes)
    except HTTPException as error:
        raise ConnectionError(type(error).__name__) from None


class _NoRedirects(HTTPRedirectHandler):
    """A signature is for one host."""

    def redirect_request(self, *_: object) -> None:
        return None
