"""Web server: the console's pages and its API, over the parts of HiveServer2."""
