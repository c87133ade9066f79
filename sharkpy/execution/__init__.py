"""How plans run. A folder imports only from those before it: `tasks` (one part of the data), `workers` (the processes
that run tasks), `spark` (its start and its jobs), `stages` (one query), `tables` (what is kept in memory), `commands`.
Between them, for the whole session: the engine, its scratch folder, statements and whose turn it is.
"""
