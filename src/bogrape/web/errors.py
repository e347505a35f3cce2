"""Errors of refused requests: an HTTP status and one sentence."""

from __future__ import annotations

from ..errors import (
    BoGrapeError,
    FitError,
    InfeasibleSpaceError,
    InvalidInputError,
    SamplingError,
    SearchSpaceExhausted,
    StorageError,
    StudyError,
)


class Refused(Exception):
    """A request that is not carried out."""

    status = 400

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status


class NotFound(Refused):
    """The requested object does not exist."""

    status = 404


class Forbidden(Refused):
    """The origin or the sender is not allowed, or the server is read-only."""

    status = 403


class TooBusy(Refused):
    """Too many computations are already running."""

    status = 429


_STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (StudyError, 409),
    (InvalidInputError, 422),
    (SearchSpaceExhausted, 409),
    (InfeasibleSpaceError, 409),
    (SamplingError, 409),
    (FitError, 409),
    (StorageError, 503),
)
_BY_NAME = {
    kind.__name__: status for base, status in _STATUSES for kind in [base, *base.__subclasses__()]
}


def status_of(error: Exception) -> int:
    """The HTTP status for an error."""
    if isinstance(error, Refused):
        return error.status
    name = getattr(error, "kind", None)  # of a job that failed in another process
    if isinstance(name, str):
        return _BY_NAME.get(name, 409)
    if isinstance(error, StorageError) and "read-only" in str(error):
        return 403
    found = next((status for kind, status in _STATUSES if isinstance(error, kind)), None)
    return found if found is not None else 409 if isinstance(error, BoGrapeError) else 500
