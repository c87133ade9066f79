"""Queries over streams, divided into what epochs compute of their rows and what is computed when the result is read."""
