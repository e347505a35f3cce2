"""Pictures of graphs and of how an optimisation went. Needs the extra ``[plots]`` when used."""
