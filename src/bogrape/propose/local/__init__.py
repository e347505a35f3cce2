"""Heuristics that evaluate batches of graphs, without a bound."""
