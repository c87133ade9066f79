"""Session on a server, over HiveServer2's protocol; to the shell it looks like one of this process."""

from sharkpy.client.server_url import ServerUrl, parse_url
from sharkpy.client.session import RemoteSession, connect_to

__all__ = ["RemoteSession", "ServerUrl", "connect_to", "parse_url"]
