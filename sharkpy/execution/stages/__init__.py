"""Stages of one query: the runner that replans between them, and what each stage reads, leaves and observes.

`PlanRunner` runs a physical plan stage by stage. `StageRunner` runs a stage in the driver or as an RDD job, and holds
exchanges and broadcasts until the query ends.
"""
