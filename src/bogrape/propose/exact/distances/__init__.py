"""Properties of the distances in graphs, independent of the data and of the surrogate."""
