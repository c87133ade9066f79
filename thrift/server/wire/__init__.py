"""Messages on the wire: the bindings of HiveServer2's service, and the protocol that reads and writes them."""
