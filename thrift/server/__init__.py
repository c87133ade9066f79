"""HiveServer2: the Thrift server; its wire bindings come from a package."""
