"""Errors on the command line: a message and an exit code.

====  ======================================================================================
0     done
1     any other error of BoGrape, for instance a Gaussian process that cannot be fitted
2     invalid usage, study file or input, or something that is not possible now
3     the database cannot be read or written
4     no graph is left to propose, or the rules of the space cannot hold together
5     most evaluations failed, so the study stopped
6     evaluations could not be started, for instance because a program is missing
130   interrupted (Ctrl-C); 143 if ended by SIGTERM. Run again to continue
====  ======================================================================================
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import click

from ..display import printable
from ..errors import (
    BoGrapeError,
    EvaluationNotStarted,
    InfeasibleSpaceError,
    InvalidInputError,
    SamplingError,
    SearchSpaceExhausted,
    StorageError,
    TooManyFailures,
)

P = ParamSpec("P")
R = TypeVar("R")

_CODES: tuple[tuple[type[BoGrapeError], int], ...] = (
    (InvalidInputError, 2),
    (StorageError, 3),
    (SearchSpaceExhausted, 4),
    (InfeasibleSpaceError, 4),
    (SamplingError, 4),
    (TooManyFailures, 5),
    (EvaluationNotStarted, 6),
)


def exit_code(error: BoGrapeError) -> int:
    """The exit code of an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 1)


def stop(message: str, code: int) -> click.exceptions.Exit:
    """Print a message to standard error; raise the returned exception to exit with the code."""
    click.echo(printable(message), err=True)  # it may quote text from a database
    return click.exceptions.Exit(code)


def explained(command: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a command: prints its errors, and Ctrl-C, as messages, not tracebacks."""

    @wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _interruptible():
                return command(*args, **kwargs)
        except BoGrapeError as error:
            raise stop(f"Error: {error}", exit_code(error)) from error
        except KeyboardInterrupt:
            raise stop("interrupted", 130) from None

    return wrapper


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, where outside a command it ends the process at once."""
    before = signal.getsignal(signal.SIGINT)
    if getattr(before, "__module__", "") != "_bogrape_command":
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
