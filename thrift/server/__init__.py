"""HiveServer2: the Thrift server. Its wire bindings come from a package."""
