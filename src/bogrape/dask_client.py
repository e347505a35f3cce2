"""A client of a Dask cluster: one that is given, or one for the scheduler at an address."""

from __future__ import annotations

from typing import Any

from .checks import shown
from .errors import InvalidInputError, UnsupportedError

_CONNECT_SECONDS = 30.0


def address_of(cluster: Any, purpose: str) -> str | None:
    """The address that ``dask://host:port`` stands for; ``None`` for a client.

    Raises if the package `distributed` is missing, or what should be an address is none. Connects
    to nothing.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise UnsupportedError(
            f"{purpose} on Dask needs the package distributed; try pip install 'bogrape[dask]'"
        ) from None
    if not isinstance(cluster, str):
        return None
    address = cluster.removeprefix("dask://")
    if not address or "/" in address:
        raise InvalidInputError(f"expected dask://host:port, got {shown(cluster)}")
    return address


def connected(cluster: Any, purpose: str) -> tuple[Any, bool]:
    """A client, and whether it was made here, so that it has to be closed here.

    Args:
        cluster: a `distributed.Client`, or ``dask://host:port``.
        purpose: for the message if the package `distributed` is missing.
    """
    address = address_of(cluster, purpose)
    if address is None:
        return cluster, False
    import distributed

    connect: Any = distributed.Client  # has no types
    try:
        return connect(f"tcp://{address}", timeout=_CONNECT_SECONDS), True
    except (OSError, TimeoutError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler answers at {address!r}: {str(error)[:200]}"
        ) from None
