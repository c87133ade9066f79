"""Certificates that verify a server."""

from __future__ import annotations

import ssl
from pathlib import Path

from sharkpy.base.errors import ConfigurationError


def tls_context(authorities: Path | None) -> ssl.SSLContext:
    """Return a context that trusts a PEM file, or the certificates of this machine if there is no file.

    Raise ConfigurationError if the file cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=str(authorities) if authorities else None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f'"{authorities}" holds no certificates: {error.strerror or error}',
            hint="a file in PEM is needed; keytool -exportcert -rfc takes them out of a Java trust store",
        ) from None
