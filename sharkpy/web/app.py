"""ASGI app of the web server: the API, the pages of HiveServer2, and the console's files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from sharkpy.thrift.pages import HTML, PAGE_POLICY, PAGES, PageRequest
from sharkpy.web.errors import RefusedError, error_response
from sharkpy.web.files import PageFile, page_files
from sharkpy.web.guards import Guard
from sharkpy.web.requests import Endpoint, Web, identify
from sharkpy.web.routes import LINKS, ROUTES

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from sharkpy.thrift.pages import Page


def make_app(web: Web) -> ASGIApp:
    """Return the app of a web server."""
    routes = [*_api_routes(web, [*ROUTES, *LINKS]), *_page_routes(web), *_file_routes()]
    handlers: dict[Any, Any] = {
        Exception: _failed,
        404: partial(_refuse, 404, "there is no such path"),
        405: partial(_refuse, 405, "the path has no such method"),
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, web.config)


def _failed(_: Request, error: Exception) -> Response:
    return error_response(error)


def _refuse(status: int, text: str, request: Request, _: Exception) -> Response:
    return error_response(RefusedError(status, f"{text}: {request.method} {request.url.path[:200]}", "42704"))


def _api_routes(web: Web, endpoints: Iterable[Endpoint]) -> list[Route]:
    def route(endpoint: Endpoint) -> Route:
        async def answer(request: Request) -> Response:
            return await endpoint.respond(request, web)

        return Route(endpoint.path, answer, methods=[endpoint.method])

    return [route(one) for one in endpoints]


_CHALLENGE = {"WWW-Authenticate": 'Basic realm="sharkpy", charset="UTF-8"'}


def _page_routes(web: Web) -> list[Route]:
    """Return routes of the pages that HiveServer2's port has, too. An administrator sees the statements of all."""

    def route(path: str, page: Page) -> Route:
        async def answer(request: Request) -> Response:
            try:
                user = ""
                if page.needs_login:
                    reader = await identify(request, web)
                    user = "" if reader.is_admin else reader.user
            except RefusedError as error:
                return Response(f"{error}\n", error.status, _CHALLENGE if error.status == 401 else {}, "text/plain")
            asked = PageRequest(web.parts, request.path_params.get("name", ""), user)
            content = await web.in_thread(page.make, asked)
            if content is None:
                return Response("there is no such page\n", 404, media_type="text/plain")
            headers = (
                {"Content-Security-Policy": f"{PAGE_POLICY}; frame-ancestors 'none'"}
                if page.content_type == HTML
                else {}
            )
            return Response(content.body, content.status, headers, page.content_type)

        return Route(path, answer, methods=["GET"])

    # Addresses of operations in logs end with a slash.
    return [route(f"{path}{end}", page) for path, page in PAGES.items() for end in ("", "/")]


def _file_routes() -> list[Route]:
    def route(path: str, file: PageFile) -> Route:
        async def answer(request: Request) -> Response:
            return file.respond(request)

        return Route(path, answer, methods=["GET"])

    return [route(path, file) for path, file in page_files().items()]
