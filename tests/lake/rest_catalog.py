"""A REST catalog of Iceberg on loopback: what the protocol asks for over a catalog that keeps its tables in SQLite."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from pyiceberg.catalog.rest import CommitTableRequest, CreateTableRequest
from pyiceberg.exceptions import CommitFailedException, NamespaceAlreadyExistsError, NoSuchTableError

from tests.storage.loopback import LoopbackServer, QuietHandler


class RestCatalogServer:
    """Server over `tables`. `config`: its answers about a table in addition to the metadata, such as keys. `failures`:
    statuses of the next commits, which are carried out.
    """

    def __init__(self, tables: Any, config: dict[str, str]) -> None:
        self.tables = tables
        self.config = config
        self.failures: list[int] = []
        self.answers: list[str] = []
        self._server = LoopbackServer(_Handler, self)

    @property
    def uri(self) -> str:
        return f"http://{self._server.address}"

    def close(self) -> None:
        self._server.close()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        self.answers.append(f"{method} {path}")
        parts = [unquote(part) for part in path.partition("?")[0].strip("/").split("/")][1:]
        try:
            match method, parts:
                case "GET", ["config"]:
                    return 200, {"defaults": {}, "overrides": {}}
                case "GET" | "HEAD", ["namespaces", name]:
                    return (200, {"namespace": [name]}) if self.tables.namespace_exists(name) else (404, {})
                case "POST", ["namespaces"]:
                    self.tables.create_namespace(tuple(json.loads(body)["namespace"]))
                    return 200, json.loads(body)
                case "POST", ["namespaces", name, "tables"]:
                    return 200, self._created(
                        name, CreateTableRequest.model_validate({"location": None, **json.loads(body)})
                    )
                case "GET" | "HEAD", ["namespaces", name, "tables", table]:
                    return 200, self._told(self.tables.load_table(f"{name}.{table}"))
                case "POST", ["namespaces", name, "tables", table]:
                    return self._committed(f"{name}.{table}", CommitTableRequest.model_validate_json(body))
                case "DELETE", ["namespaces", name, "tables", table]:
                    self.tables.drop_table(f"{name}.{table}")
                    return 204, None
        except NoSuchTableError as error:
            return 404, {"error": {"message": str(error), "type": "NoSuchTableException", "code": 404}}
        except NamespaceAlreadyExistsError as error:
            return 409, {"error": {"message": str(error), "type": "AlreadyExistsException", "code": 409}}
        except CommitFailedException as error:
            return 409, {"error": {"message": str(error), "type": "CommitFailedException", "code": 409}}
        except Exception as error:
            return 400, {"error": {"message": repr(error), "type": "BadRequestException", "code": 400}}
        return 400, {"error": {"message": f"{method} {path}", "type": "BadRequestException", "code": 400}}

    def _created(self, name: str, request: Any) -> Any:
        made = self.tables.create_table(
            f"{name}.{request.name}", request.table_schema, request.location, properties=request.properties
        )
        return self._told(made)

    def _committed(self, name: str, request: Any) -> tuple[int, Any]:
        found = self.tables.commit_table(self.tables.load_table(name), request.requirements, request.updates)
        if self.failures:
            return self.failures.pop(), {"error": {"message": "lost", "type": "ServerError", "code": 500}}
        return 200, {
            "metadata-location": found.metadata_location,
            "metadata": json.loads(found.metadata.model_dump_json()),
        }

    def _told(self, table: Any) -> Any:
        metadata = json.loads(table.metadata.model_dump_json())
        return {"metadata-location": table.metadata_location, "metadata": metadata, "config": self.config}


class _Handler(QuietHandler):
    owner: RestCatalogServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, found = self.owner.answer(self.command, self.path, body)
        content = b"" if found is None else json.dumps(found).encode()
        super().answer(status, content, {"Content-Type": "application/json"})
