"""Queries over streams, divided into the state that epochs maintain and the result computed when it is read."""
