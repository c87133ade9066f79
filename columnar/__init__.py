"""The compressed columnar memory store: encodings, statistics, blocks, table versions, pruning. No pyspark."""
