"""Graphs, partitioned by the hash of the vertex, and supersteps of Pregel over them.

input → build (deal, number, connect) → graph → superstep after superstep → result
"""
