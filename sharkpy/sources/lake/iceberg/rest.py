"""REST catalogs of Iceberg, with limits, and with the keys that they vend for the files of a table."""

from __future__ import annotations

import time
from typing import Any

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table as IcebergHandle
from requests import Session
from requests.adapters import HTTPAdapter

from sharkpy.base import settings
from sharkpy.base.endpoint import check_endpoint
from sharkpy.base.errors import ResourceError, SourceError
from sharkpy.base.secrets import Secret, names_secret
from sharkpy.sources.lake.iceberg.metadata_files import LakeIO
from sharkpy.sources.storage.access import ACCESSES, StorageAccess

_CONNECT_SECONDS, _SECONDS = 5.0, 60.0
_MOST_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
_VENDED = {
    "s3.access-key-id": settings.S3_ACCESS_KEY.key,
    "s3.secret-access-key": settings.S3_SECRET_KEY.key,
    "s3.session-token": settings.S3_SESSION_TOKEN.key,
    "s3.endpoint": settings.S3_ENDPOINT.key,
    "client.region": settings.S3_REGION.key,
    "s3.region": settings.S3_REGION.key,
    "s3.path-style-access": settings.S3_PATH_STYLE.key,
}
"""Options in a table's configuration, with the engine's names for them."""
_KEYS = (settings.S3_ACCESS_KEY.key, settings.S3_SECRET_KEY.key)


class LakeRestCatalog(RestCatalog):  # type: ignore[misc]
    """REST catalog whose tables use `LakeIO` for their files.

    The catalog's answer about a table may give access to the table's folder. Otherwise the session's own access is
    used. Properties of tables give no access.
    """

    def _create_session(self) -> Session:
        session: Session = super()._create_session()
        for start in ("http://", "https://"):
            session.mount(start, _Bounded())
        return session

    def _load_file_io(self, properties: Any = None, location: str | None = None) -> LakeIO:  # noqa: ARG002
        return LakeIO(location=location)

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: Any) -> IcebergHandle:
        return self._with_keys(super()._response_to_table(identifier_tuple, table_response), table_response)

    def _response_to_staged_table(self, identifier_tuple: tuple[str, ...], table_response: Any) -> Any:
        return self._with_keys(super()._response_to_staged_table(identifier_tuple, table_response), table_response)

    def _with_keys(self, table: Any, response: Any) -> Any:
        place = response.metadata_location or response.metadata.location
        given = self._resolve_storage_credentials(response.storage_credentials, place)
        table.io.given = vended_access({**response.config, **given}, table.io)
        return table


def vended_access(config: dict[str, str], files: LakeIO) -> StorageAccess | None:
    """Access to a table's folder from its catalog; None if that vends no keys. Other options come from the session."""
    found = {_VENDED[key]: Secret(value) for key, value in config.items() if key in _VENDED}
    if files.folder is None or not all(key in found for key in _KEYS):
        return None
    if (endpoint := found.get(settings.S3_ENDPOINT.key)) is not None:
        check_endpoint(endpoint.reveal())
    known = ACCESSES.find(files.access_id(files.folder)).options
    own = {key: value for key, value in known if not names_secret(key) and key != settings.S3_CREDENTIALS.key}
    return StorageAccess.of(own | found, "keys that Iceberg's catalog gives")


class _Bounded(HTTPAdapter):
    """Requests with limits on their time and on the bytes of the answer."""

    def send(self, request: Any, *rest: Any, **options: Any) -> Any:
        options |= {"stream": True, "timeout": options.get("timeout") or (_CONNECT_SECONDS, _SECONDS)}
        deadline = time.monotonic() + _SECONDS
        response: Any = super().send(request, *rest, **options)
        content = bytearray()
        for piece in response.iter_content(_PIECE_BYTES):
            content += piece
            if len(content) > _MOST_BYTES:
                message = f"Iceberg's catalog answered with more than {_MOST_BYTES >> 20} MB"
                raise ResourceError(message, sqlstate="54000")
            if time.monotonic() > deadline:
                raise SourceError(f"Iceberg's catalog has not answered within {_SECONDS:.0f} s", sqlstate="08006")
        response._content = bytes(content)
        return response
