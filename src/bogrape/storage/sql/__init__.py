"""Studies in a database: a SQLite file by default, PostgreSQL by URL.

One schema for both (`schema`), trials as rows of plain text and numbers with a checksum (`rows`),
and every change of a study one transaction (`storage`). Graphs are JSON; nothing is pickled. A
SQLite file is checked (`integrity`) without changing it (`untouched`) before it is opened,
and the remains of a damaged one can be read (`rescue`).
"""
