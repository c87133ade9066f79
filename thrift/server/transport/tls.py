"""TLS on the server's port."""

from __future__ import annotations

import ssl

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.config import ServerConfig

HANDSHAKE = 0x16
"""The first byte of a TLS connection."""

HANDSHAKE_FAILURE = b"\x15\x03\x01\x00\x02\x02\x28"
"""Alert for a client that wants TLS from a server without TLS. The client reports it instead of a lost connection."""


def server_context(config: ServerConfig) -> ssl.SSLContext | None:
    """Return a context for TLS 1.2 and newer with the server's certificate, or None if none is configured."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key, password=_no_password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f'no TLS with certificate "{config.tls_cert}" and key "{config.tls_key}": {error}'
        ) from error
    return context


def _no_password() -> str:
    raise ssl.SSLError("the key is encrypted")
