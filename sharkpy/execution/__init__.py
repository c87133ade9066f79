"""Execution of plans. A folder imports only from those before it: `tasks` (one part of the data), `workers` (the
processes that run tasks), `spark` (its start and its jobs), `stages` (one query), `tables` (tables in memory),
`commands`. Between them, for the whole session: the engine, its scratch folder, statements and their turns.
"""
