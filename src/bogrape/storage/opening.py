"""Open the `Storage` for a ``storage`` argument. SQLAlchemy is loaded only for databases."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInputError
from .protocol import Storage
from .rescued import RescuedStudy


def open_storage(place: Storage | str, *, create: bool = True) -> Storage:
    """The storage behind a database URL, or the storage itself.

    The tables of a database are created, or migrated, if necessary. With ``create=False`` a missing
    SQLite file is an error.
    """
    if isinstance(place, str):
        from .sql.storage import SQLStorage

        return SQLStorage(place, create=create)
    if not isinstance(place, Storage):
        raise InvalidInputError(
            "storage must be a URL such as sqlite:///study.db or a Storage, got "
            f"{type(place).__name__}"
        )
    return place


def rescue(path: str | Path) -> list[RescuedStudy]:
    """Read all that can be read of the studies in a SQLite file, without changing the file."""
    from .sql.rescue import read_rescued

    return read_rescued(Path(path))
