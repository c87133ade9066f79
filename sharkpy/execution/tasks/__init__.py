"""Tasks: work on one part of the data, the same in the driver's process and in a worker's.

Inputs (blocks, file splits, exchange payloads, broadcasts) become relations of DuckDB, a stage's program runs over
them, and a sink takes the rows: payloads by bucket, blocks or files. Collectors watch what goes into exchanges.
"""
