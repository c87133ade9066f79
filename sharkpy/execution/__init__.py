"""How plans run: Spark start-up, workers, tasks, exchanges, broadcasts and the runner."""
