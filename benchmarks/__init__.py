"""Experiments, baselines and speed measurements, run from a checkout; not part of the package.

``python -m benchmarks`` runs the paper's *experiments*. An experiment compares *methods* (the
`optimisers`, or the `surrogates` behind them) on *problems* (`bogrape.problems`) over several
*replications*, one per seed. Each replication becomes one line of a file (`records`), from which
`statistics`, `markdown_tables` and `figures` make the tables and figures of the documents.

The other modules with a ``main`` measure one thing each: ``python -m benchmarks.speed``,
``dask_proofs``, ``engine``, ``large_spaces``, ``many_observations``, ``molecule_sampling``,
``scale``, ``study_overhead``, and ``reference`` for the best known values.
"""
