"""The error for a library that is not installed."""

from __future__ import annotations

from ..errors import MissingExtraError


def missing(what: str, library: str, extra: str) -> MissingExtraError:
    """The error for a missing library; its message says how to install it.

    >>> print(missing("the sampler", "Optuna", "optuna"))
    the sampler needs Optuna, which is not installed; try pip install 'bogrape[optuna]'
    """
    return MissingExtraError(
        f"{what} needs {library}, which is not installed; try pip install 'bogrape[{extra}]'"
    )
