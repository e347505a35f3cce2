"""Storages of studies: in memory, in a SQLite file, or on a PostgreSQL server.

`Storage` says what a study needs (`protocol`), and `open_storage` finds it for a URL (`opening`).
Nothing here knows what a study does with its trials.
"""

from .memory import InMemoryStorage
from .opening import open_storage, rescue
from .protocol import Storage
from .rescued import RescuedStudy

__all__ = ["InMemoryStorage", "RescuedStudy", "Storage", "open_storage", "rescue"]
