"""One query's stages: the runner that plans again between them, and what each of them reads, leaves and observes.

`Runner` takes a physical plan stage by stage; `StageRunner` runs a stage in the driver or as an RDD job, and keeps
what exchanges and broadcasts hold until the query ends.
"""
