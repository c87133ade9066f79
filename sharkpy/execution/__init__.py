"""Execution of plans.

A folder imports only from the folders before it: `tasks` (work on one part of the data), `workers` (processes that run
tasks), `spark` (its start and its jobs), `stages` (one query), `tables` (tables in memory), `commands`. The files here
serve the whole session: the engine, its scratch folder, statements and their admission.
"""
