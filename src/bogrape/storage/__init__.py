"""Studies in a database: a SQLite file by default, PostgreSQL by URL.

One schema for both (`schema`), trials as rows of plain text and numbers with a checksum (`rows`),
and every change of a study one transaction (`sql`). Graphs are JSON; nothing is pickled.
"""

from .sql import SQLStorage, open_storage

__all__ = ["SQLStorage", "open_storage"]
