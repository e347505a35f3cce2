"""Work in separate processes, which can be stopped at any moment.

`worker.Worker` is one such process; the exact engine keeps several of them (`pool`), and each solve
of the mixed-integer program has its own.
"""
