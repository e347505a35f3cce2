"""Clients of Dask clusters: given ones, or new ones for the scheduler at an address."""

from __future__ import annotations

from typing import Any

from .checks import shown
from .errors import InvalidInputError, UnsupportedError

_CONNECT_SECONDS = 30.0


def address_of(cluster: Any, purpose: str) -> str | None:
    """The address that ``dask://host:port`` stands for; ``None`` for a client.

    Raises if the package `distributed` is missing or the address is malformed. It does not
    connect.
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
    """A client, and True if it was created here and has to be closed by the caller.

    Args:
        cluster: a `distributed.Client`, or ``dask://host:port``.
        purpose: for the message if the package `distributed` is missing.
    """
    address = address_of(cluster, purpose)
    if address is None:
        return cluster, False
    import distributed

    connect: Any = distributed.Client  # untyped
    try:
        return connect(f"tcp://{address}", timeout=_CONNECT_SECONDS), True
    except (OSError, TimeoutError, ValueError) as error:
        raise InvalidInputError(
            f"no Dask scheduler answers at {address!r}: {str(error)[:200]}"
        ) from None
