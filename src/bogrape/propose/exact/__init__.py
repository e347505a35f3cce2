"""The exact engine: the globally best graph, with a proof (docs/exact-engine.md).

Each of its packages uses only those before it: ``distances`` (properties of distances in graphs)
and ``skeletons`` (lists of graphs of limited degree), ``bounds`` (on the acquisition, over counts),
``proof`` (divides the space into pieces and settles one after another). A proposal begins in
``proof.engine``.
"""
