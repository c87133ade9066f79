"""Keys of a container in Azure storage, in the form that obstore takes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sharkpy.base import settings
from sharkpy.sources.storage.access import StorageAccess

if TYPE_CHECKING:
    from obstore.store import AzureConfig


def azure_keys(access: StorageAccess) -> AzureConfig | None:
    """Account key, signature or client login; None if the access has none of them."""
    if (key := access.secret(settings.AZURE_ACCOUNT_KEY.key)) is not None:
        return {"account_key": key.reveal(), "credential_type": "access_key"}
    if (signature := access.secret(settings.AZURE_SAS.key)) is not None:
        return {"sas_key": signature.reveal(), "credential_type": "sas_token"}
    client = access.value(settings.AZURE_CLIENT_ID.key)
    secret = access.secret(settings.AZURE_CLIENT_SECRET.key)
    login = access.value(settings.AZURE_CLIENT_ENDPOINT.key)
    if not client or secret is None or not login:
        return None
    place = urlsplit(login)
    return {
        "client_id": client,
        "client_secret": secret.reveal(),
        "tenant_id": place.path.strip("/").partition("/")[0],
        "authority_host": f"{place.scheme}://{place.netloc}",
        "credential_type": "client_secret",
    }
