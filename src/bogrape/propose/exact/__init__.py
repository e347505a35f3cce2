"""The exact engine: local search for the incumbent, CP-SAT for the proof (ENGINE in the docs).

``engine`` cuts the space into pieces, ``relaxation`` settles what needs no solver, ``worker`` runs
the rest in killable processes, ``piece`` solves one, with the posterior as ``forms`` in
``integers`` or as ``tables`` of counts, and ``feasibility`` explains why there is nothing to
propose.
"""
