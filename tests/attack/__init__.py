"""The attack: random small instances against a brute force that shares no code with the package.

==================  ================================================================================
`attack.graphs`     all graphs of a size as plain tuples, and their isomorphism classes
`attack.rules`      the meaning of every rule, decided by counting, removing and walking
`attack.model`      kernels, posterior and acquisition by the formulas, in extended precision
`attack.instances`  random spaces, rules, data, exclusions, incumbents, time limits
`attack.disguise`   the engine without its incumbents, its workers or its symmetries
`attack.check`      one instance: is everything that the package says about it true?
`attack.run`        many instances, seeded and resumable
==================  ================================================================================
"""
