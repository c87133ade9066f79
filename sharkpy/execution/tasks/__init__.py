"""Tasks: work on one part of the data, the same in the driver's process and in a worker's.

Inputs (blocks, file splits, exchange payloads, broadcasts) become relations of DuckDB. A stage's program runs over
them, and a sink takes the rows as payloads by bucket, blocks or files. Collectors gather statistics of the rows in
exchanges.
"""
