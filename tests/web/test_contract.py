"""Answers of each endpoint fit the description of the API, whatever is asked, and have nothing of other users."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.explain.profile_html import PAGE
from sharkpy.web.errors import JSON
from sharkpy.web.requests import Endpoint
from sharkpy.web.routes import ROUTES
from tests.examples import examples
from tests.thrift.caller import Caller, over_http
from tests.web.conftest import Serve, Served
from tests.web.test_queries import LONG_QUERY, run, running

EVENTS = "/api/v1/events"
SECRET = "'secret of bob'"
ENDPOINTS = [one for one in ROUTES if one.path != EVENTS]
NAMES = [f"{one.method} {one.path}" for one in ENDPOINTS]
FRAMEWORK_STATUSES = {404, 405}
"""Statuses of paths and methods that the description does not have."""


@pytest.fixture
def served(serve: Serve) -> Served:
    started = serve(knows_users=True)
    # The first statement raises the limit of recursion, which Hypothesis watches.
    run(started, "ada", "SELECT 1")
    return started


def operation_of(browser: httpx.Client, endpoint: Endpoint) -> dict[str, Any]:
    document = browser.get("/api/v1/openapi.json").json()
    found: dict[str, Any] = document["paths"][endpoint.path][endpoint.method.lower()]
    return {**found, "components": document["components"]}


def check(answer: httpx.Response, operation: dict[str, Any]) -> None:
    """Check that the description has the status, and that the body fits it."""
    described = operation["responses"].get(str(answer.status_code))
    if described is None:
        assert answer.status_code in FRAMEWORK_STATUSES, (answer.status_code, answer.text[:300])
        return
    if "content" not in described:
        assert not answer.content
        return
    content = described["content"].get(JSON)
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if content is None or kind != JSON:
        assert kind in described["content"]
        return
    schema = {"components": operation["components"], **content["schema"]}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(answer.json())


def values(schema: dict[str, Any], components: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema describes."""
    if "$ref" in schema:
        return values(components["schemas"][schema["$ref"].rpartition("/")[2]], components)
    if "anyOf" in schema:
        return st.one_of([values(one, components) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            is_time = schema.get("format") == "date-time"
            return st.datetimes().map(lambda one: one.isoformat() + "Z") if is_time else st.text(max_size=20)
        case "integer":
            return st.integers()
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(values(schema["items"], components), max_size=3)
        case "object":
            fields = {name: values(one, components) for name, one in schema.get("properties", {}).items()}
            optional = {name: one for name, one in fields.items() if name not in schema.get("required", ())}
            needed = {name: one for name, one in fields.items() if name not in optional}
            return st.fixed_dictionaries(needed, optional=optional)
    return ANY


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def requests(operation: dict[str, Any], endpoint: Endpoint) -> st.SearchStrategy[tuple[str, dict[str, Any], Any]]:
    """Paths, parameters and bodies: most as described, some with anything."""
    components = operation["components"]
    texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
    parameters = {
        one["name"]: values(one["schema"], components) | texts
        for one in operation["parameters"]
        if one["in"] == "query"
    }
    body: st.SearchStrategy[Any] = st.none()
    if (described := operation.get("requestBody")) is not None:
        body = values(described["content"][JSON]["schema"], components) | ANY
    name = texts.map(lambda one: quote(one, safe="") or "x")
    path = name.map(lambda one: re.sub(r"{\w+}", lambda _: one, endpoint.path))
    return st.tuples(path, st.fixed_dictionaries({}, optional=parameters), body)


def send(browser: httpx.Client, method: str, path: str, parameters: dict[str, Any], body: Any) -> httpx.Response:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": JSON} if content is not None else {}
    return browser.request(method, path, params=parameters, content=content, headers=headers)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=NAMES)
def test_answers_to_anything(served: Served, endpoint: Endpoint) -> None:
    with served.browser("ada") as browser, served.browser() as stranger:
        operation = operation_of(browser, endpoint)
        # A wrong password takes time by intent, and a right one ends other logins.
        is_login = endpoint.path.endswith(("/login", "/logout"))

        @settings(
            max_examples=5 if is_login else examples(60),
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=True,
        )
        @given(requests(operation, endpoint))
        def ask(request: tuple[str, dict[str, Any], Any]) -> None:
            if endpoint.path != "/api/v1/logout":
                check(send(browser, endpoint.method, *request), operation)
            answer = send(stranger, endpoint.method, *request)
            check(answer, operation)
            assert not endpoint.needs_login or answer.status_code in (401, 404)

        ask()


def test_usual_answers(served: Served) -> None:
    run(served, "ada", "CREATE TABLE usual AS SELECT explode(array(1, 2)) AS n, map('a', 1.5) AS m")
    run(served, "ada", "CACHE TABLE usual", "ANALYZE TABLE usual COMPUTE STATISTICS", "SELECT n FROM usual WHERE n > 1")
    missing = {"/api/v1/streams/{name}", *([] if PAGE.exists() else ["/api/v1/queries/{name}/profile.html"])}
    with served.browser("root") as browser:
        shown = browser.get("/api/v1/queries", params={"text": "n > 1"}).json()["queries"][0]["query_id"]
        for endpoint in ENDPOINTS:
            if endpoint.method == "GET":
                path = endpoint.path.replace("{database}", "default")
                path = path.replace("{name}", "usual" if "/tables/" in path else shown)
                answer = browser.get(path)
                check(answer, operation_of(browser, endpoint))
                assert answer.status_code == 200 or endpoint.path in missing, answer.text
    run(served, "ada", "DROP TABLE usual")


def parts(browser: httpx.Client, query_id: str) -> Iterator[tuple[str, str]]:
    """Yield what a user can read: each GET endpoint, the pages, and the tables of `sys`."""
    for endpoint in ENDPOINTS:
        if endpoint.method == "GET":
            yield endpoint.path, browser.get(re.sub(r"{\w+}", query_id, endpoint.path)).text
    for path in ("/", "/queries", f"/queries/{query_id}", f"/operations/{query_id}", "/metrics"):
        yield path, browser.get(path).text
    for statement in ("SELECT * FROM sys.queries", "SELECT * FROM sys.operators", "SHOW QUERIES"):
        answer = browser.post("/v1/sql", json={"statement": statement}, headers={"Accept": JSON})
        yield statement, answer.text


def test_nothing_of_another_user_is_shown(served: Served) -> None:
    run(served, "bob", f"SELECT {SECRET}, explode(array(1, 2))", f"SELECT {SECRET} FROM nowhere")
    port = served.server.port
    with Caller(port, transport=over_http(port, "bob", "secret bob")) as caller, served.browser("bob") as bob:
        operation = caller.begin(f"{LONG_QUERY} AND {SECRET} <> ''")
        query_id = running(bob, SECRET)
        with served.browser("ada") as ada, served.browser("root") as root:
            seen = {place for place, text in parts(ada, query_id) if "secret of bob" in text}
            assert seen == set()
            assert {place for place, text in parts(root, query_id) if "secret of bob" in text} >= {"/api/v1/queries"}
            killed = ada.post("/v1/sql", json={"statement": f"KILL QUERY '{query_id}'"}).json()
            assert killed["error"]["sqlstate"] == "42704"
            assert ada.post(f"/api/v1/queries/{query_id}/cancel").status_code == 404
            session = bob.post("/v1/sessions").json()["session_id"]
            stolen = ada.post("/v1/sql", json={"statement": "SELECT 1", "session_id": session})
            assert stolen.status_code == 404
            assert ada.delete(f"/v1/sessions/{session}").status_code == 404
            assert bob.delete(f"/v1/sessions/{session}").status_code == 204
        caller.cancel(operation)
