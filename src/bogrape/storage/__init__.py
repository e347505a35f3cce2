"""Storages of studies: in memory, in a SQLite file, or on a PostgreSQL server.

`Storage` is the interface for studies (`protocol`); `open_storage` opens one by URL (`opening`).
Storages know nothing about the meaning of trials.
"""

from .memory import InMemoryStorage
from .opening import open_storage, rescue
from .protocol import Storage
from .rescued import RescuedStudy

__all__ = ["InMemoryStorage", "RescuedStudy", "Storage", "open_storage", "rescue"]
