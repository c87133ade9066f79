"""sharkpy: a Shark-style HiveQL warehouse engine on Spark, with a compressed columnar memory store."""
