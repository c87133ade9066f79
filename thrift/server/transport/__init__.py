"""One port for every transport of HiveServer2: first bytes, logins, frames, HTTP, TLS, threads and limits."""

from sharkpy.thrift.transport.listener import Listener
from sharkpy.thrift.transport.service import Client, Dispatcher

__all__ = ["Client", "Dispatcher", "Listener"]
