"""Work in processes of their own, which can be stopped at any moment.

`process.Worker` is one such process, seen from outside; the exact engine keeps several of them
(`pool`), and each solve of the mixed-integer program has one to itself. `worker` is what runs
inside, `messages` what goes between, `child` how Python is started for it.
"""
