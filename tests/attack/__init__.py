"""The attack: random small instances against a brute force that shares no code with the package.

==================  ================================================================================
`attack.graphs`     all graphs of a size, by plain tuples, and which of them are the same
`attack.rules`      what every rule means, decided by counting, removing and walking
`attack.model`      kernels, posterior and acquisition by the formulas, in extended precision
`attack.instances`  random spaces, rules, data, exclusions, incumbents, time limits
`attack.disguise`   what is taken away from the engine: its incumbents, its workers, its symmetries
`attack.check`      one instance: what the package says, and whether it is true
`attack.run`        many of them, seeded and resumable
==================  ================================================================================
"""
