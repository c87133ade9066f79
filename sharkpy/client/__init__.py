"""Sessions on a server, over HiveServer2's protocol or HTTP; they look like sessions of this process."""

from sharkpy.client.remote_session import RemoteSession, connect_to
from sharkpy.client.server_url import ServerUrl, parse_url

__all__ = ["RemoteSession", "ServerUrl", "connect_to", "parse_url"]
