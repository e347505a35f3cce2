"""Heuristics that look at graphs one batch after another, without a bound."""
