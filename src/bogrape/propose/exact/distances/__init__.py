"""What is true of the distances in graphs, whatever the data: no Gaussian process in sight."""
