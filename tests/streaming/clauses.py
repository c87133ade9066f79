"""Clauses that continuous tables of the tests have in common."""

NOW = "TRIGGER AVAILABLE NOW"
MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
