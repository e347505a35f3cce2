"""Properties of distances in graphs that hold whatever the data, without any model."""
