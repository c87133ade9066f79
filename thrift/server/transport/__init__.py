"""One port for every transport of HiveServer2: first bytes, logins, frames, HTTP, TLS, threads and limits."""

from sharkpy.thrift.transport.client import Client, Dispatcher
from sharkpy.thrift.transport.listener import Listener

__all__ = ["Client", "Dispatcher", "Listener"]
