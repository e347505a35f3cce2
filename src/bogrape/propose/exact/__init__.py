"""The exact engine: the globally best graph, with a proof (docs/exact-engine.md).

Rooms, each of which uses only those before it: ``distances`` (what is true of the distances in
graphs) and ``skeletons`` (graphs of limited degree, listed), ``bounds`` (on the acquisition, over
counts), ``proof`` (the space in pieces, solved one after another). ``proof.engine`` is where a
proposal begins.
"""
