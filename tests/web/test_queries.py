"""Lists of statements, one statement, cancels and shapes; what users see of each other."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

import sharkpy
from sharkpy.explain import profile_html
from tests.thrift.caller import Caller, over_http
from tests.waiting import until
from tests.web.conftest import Serve, Served

LONG_QUERY = (
    "SELECT count(*) FROM (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) a "
    "CROSS JOIN (SELECT posexplode(split(space(99999), ' ')) AS (n, x)) b WHERE a.n * b.n % 7 = 3"
)


def listed(browser: httpx.Client, **parameters: Any) -> list[dict[str, Any]]:
    answer = browser.get("/api/v1/queries", params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["queries"]
    return found


def running(browser: httpx.Client, text: str) -> str:
    """Wait until a statement with this text runs, and return its id."""
    found: list[dict[str, Any]] = []

    def is_running() -> bool:
        found[:] = listed(browser, text=text, state="running")
        return bool(found)

    until(is_running)
    return str(found[0]["query_id"])


def run(served: Served, user: str, *texts: str) -> None:
    with Caller(served.server.port, transport=over_http(served.server.port, user, f"secret {user}")) as caller:
        for text in texts:
            caller.execute(text)


def test_statements_with_their_figures(serve: Serve) -> None:
    served = serve()
    with Caller(served.server.port) as caller, served.browser() as browser:
        caller.rows("SELECT 'of the list', explode(array(1, 2, 3))")
        caller.execute("SELECT nothing FROM nowhere")
        failed, done = listed(browser, limit=2)
        assert (done["state"], done["rows_returned"], done["kind"]) == ("finished", 3, "SELECT")
        assert done["started"].endswith("Z")
        assert failed["state"] == "failed"
        assert failed["error"]["sqlstate"] == "42S02"
        assert listed(browser, text="OF THE L") == [done]
        assert listed(browser, text="of the list", state=["failed", "running"]) == []
        assert listed(browser, since=done["started"], limit=1) == [failed]
        assert done not in listed(browser, until=done["started"])
        one = browser.get(f"/api/v1/queries/{done['query_id']}").json()
        assert done.items() <= one.items()
        assert "stage 1" in one["plan"]
        assert browser.get("/api/v1/queries/nothing").status_code == 404


def test_pages_of_a_list(serve: Serve) -> None:
    served = serve()
    with Caller(served.server.port) as caller, served.browser() as browser:
        for number in range(7):
            caller.rows(f"SELECT 'page', explode(array({', '.join(map(str, range(number // 2 + 1)))}))")
        for sort, descending in [("started", "true"), ("rows_returned", "true"), ("rows_returned", "false")]:
            query = {"text": "'page'", "sort": sort, "descending": descending}
            whole = listed(browser, **query)
            assert len(whole) == 7
            found, cursor = [], None
            while cursor is not None or not found:
                answer = browser.get("/api/v1/queries", params={**query, "limit": 3, "cursor": cursor or ""}).json()
                found += answer["queries"]
                cursor = answer["next"]
            assert found == whole
            values = [one[sort] for one in whole]
            assert values == sorted(values, reverse=descending == "true")
        wrong = browser.get("/api/v1/queries", params={"limit": 3, "cursor": "x"})
        assert wrong.status_code == 400


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=501", "limit=x", "limit=1e9", "sort=text", "descending=2", "state=none", "since=now"),
        *("until=9999999-01-01", "cursor=%FF", "cursor=e30", "cursor=WzEsMiwzLDRd", "other=1", "since=0001-01-01"),
    ],
)
def test_wrong_parameters(serve: Serve, query: str) -> None:
    with serve().browser() as browser:
        answer = browser.get(f"/api/v1/queries?{query}")
        assert answer.status_code == (200 if query == "since=0001-01-01" else 400)
        assert answer.status_code == 200 or answer.json()["error"]["sqlstate"] == "22023"


@pytest.mark.parametrize("text", ["%", "_", '"', "'", "\\", "a\0b", "*", "ab", "' OR 1=1 --", '" OR "a', "é😀"])
def test_texts_are_literal(serve: Serve, text: str) -> None:
    with serve().browser() as browser:
        assert listed(browser, text=f"{text} nothing has this") == []
        listed(browser, text=text)


def test_users_do_not_see_each_other(serve: Serve) -> None:
    served = serve(knows_users=True)
    run(served, "ada", "SELECT 'of ada'")
    run(served, "bob", "SELECT 'of bob'")
    with served.browser("ada") as ada, served.browser("root") as root:
        [own] = listed(ada, text="'of ada'")
        [other] = listed(root, text="'of bob'")
        assert {one["user"] for one in listed(ada, limit=500)} == {"ada"}
        assert listed(ada, text="'of bob'") == []
        assert listed(ada, user="bob") == []
        assert [one["query_id"] for one in listed(root, user="bob", text="'of bob'")] == [other["query_id"]]
        assert ada.get(f"/api/v1/queries/{own['query_id']}").status_code == 200
        assert root.get(f"/api/v1/queries/{own['query_id']}").status_code == 200
        for path in (f"/api/v1/queries/{other['query_id']}", f"/queries/{other['query_id']}"):
            assert ada.get(path).status_code == 404
        assert ada.post(f"/api/v1/queries/{other['query_id']}/cancel").status_code == 404
        assert "of bob" not in ada.get("/queries").text
        assert "of bob" in root.get("/queries").text
        assert "of bob" not in ada.get("/api/v1/shapes").text


def test_cancels(serve: Serve) -> None:
    served = serve(knows_users=True)
    port = served.server.port
    with Caller(port, transport=over_http(port, "bob", "secret bob")) as caller:
        for user in ("bob", "root"):
            with served.browser(user) as browser, served.browser("ada") as ada:
                operation = caller.begin(f"{LONG_QUERY} AND 'cancel of {user}' <> ''")
                path = f"/api/v1/queries/{running(browser, f'cancel of {user}')}/cancel"
                assert ada.post(path).status_code == 404
                assert browser.post(path, headers={"X-CSRF-Token": ""}).status_code == 403
                assert browser.post(path).status_code == 204
                assert "cancelled from the console" in str(caller.until_ended(operation).errorMessage)
                assert browser.post(path).status_code == 409


def test_a_statement_of_the_program_is_cancelled(serve: Serve, engine: sharkpy.SharkContext) -> None:
    served = serve()
    errors: list[Exception] = []

    def work() -> None:
        try:
            engine.sql(f"{LONG_QUERY} AND 'of the program' <> ''").fetchall()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    with served.browser() as browser:
        assert browser.post(f"/api/v1/queries/{running(browser, 'of the program')}/cancel").status_code == 204
    thread.join(60)
    assert "cancelled from the console" in str(errors[0])


def test_shapes(serve: Serve) -> None:
    served = serve()
    with Caller(served.server.port) as caller, served.browser() as browser:
        for number in range(3):
            caller.rows(
                f"SELECT  {number} + 1, 'shape'\nFROM (SELECT {number}.5e3) t WHERE {number} IN (1, 2, {number})"
            )
        found: list[dict[str, Any]] = []

        def is_complete() -> bool:
            found[:] = [one for one in browser.get("/api/v1/shapes").json()["shapes"] if "IN (?)" in one["shape"]]
            return bool(found) and found[0]["count"] == 3

        until(is_complete)
        assert found[0]["shape"] == "SELECT ? + ?, ? FROM (SELECT ?) t WHERE ? IN (?)"
        assert found[0]["p50_seconds"] <= found[0]["p99_seconds"] <= found[0]["total_seconds"]
        assert "shape" in browser.get(f"/api/v1/queries/{found[0]['example_id']}").json()["text"]


def test_the_profile_as_a_file(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_html, "PAGE", Path(sharkpy.__file__).parent / "web" / "page" / "profile.html")
    served = serve(knows_users=True)
    run(served, "ada", "SELECT explode(array('</script>')) AS carried", "SHOW TABLES")
    with served.browser("ada") as browser, served.browser("bob") as other:
        query_id = listed(browser, text="carried")[0]["query_id"]
        path = f"/api/v1/queries/{query_id}/profile.html"
        answer = browser.get(path)
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["Content-Disposition"] == f'attachment; filename="query-{query_id}.html"'
        assert f'"query_id":"{query_id}"' in answer.text
        assert "'</script>" not in answer.text
        assert other.get(path).status_code == 404
        bare = listed(browser, text="show tables")[0]["query_id"]
        assert browser.get(f"/api/v1/queries/{bare}/profile.html").status_code == 404
        monkeypatch.setattr(profile_html, "PAGE", Path("none.html"))
        assert "make page" in browser.get(path).json()["error"]["hint"]
