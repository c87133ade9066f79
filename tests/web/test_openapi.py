"""Description of the API, and answers that fit it."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

from sharkpy.web.routes import ROUTES
from tests.thrift.caller import Caller
from tests.web.conftest import Serve


def described(serve: Serve) -> dict[str, Any]:
    with serve(knows_users=True).browser() as browser:
        answer: dict[str, Any] = browser.get("/api/v1/openapi.json").json()
        return answer


def test_each_endpoint_is_described(serve: Serve) -> None:
    document = described(serve)
    assert document["openapi"] == "3.1.0"
    found = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert found == {(one.method, one.path) for one in ROUTES}
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    for reference in re.findall(r"#/components/schemas/(\w+)", str(document)):
        assert reference in document["components"]["schemas"]


TABLE = "tables/{database}/{name}"
PARTS = ("columns", "size", "statistics", "memory", "files", "history", "lineage")


@pytest.mark.parametrize(
    "path",
    [
        *("session", "queries", "queries/{name}", "shapes", "openapi.json", "catalog", "functions", TABLE),
        *(f"{TABLE}/{part}" for part in PARTS),
    ],
)
def test_answers_fit(serve: Serve, path: str) -> None:
    document = described(serve)
    served = serve()
    with Caller(served.server.port) as caller, served.browser() as browser:
        caller.execute("CREATE TABLE IF NOT EXISTS described TBLPROPERTIES ('shark.cache'='MEMORY') AS SELECT 1 AS x")
        caller.rows("SELECT 'described', x FROM described")
        query_id = browser.get("/api/v1/queries?limit=1").json()["queries"][0]["query_id"]
        name = "described" if path.startswith(TABLE) else query_id
        answer = browser.get(f"/api/v1/{path.format(database='default', name=name)}")
        [schema] = document["paths"][f"/api/v1/{path}"]["get"]["responses"]["200"]["content"].values()
        jsonschema.validate(answer.json(), {**schema["schema"], "components": document["components"]})
        refused = browser.get("/api/v1/queries?limit=x")
        error = document["paths"]["/api/v1/queries"]["get"]["responses"]["400"]["content"]["application/json"]
        jsonschema.validate(refused.json(), {**error["schema"], "components": document["components"]})
