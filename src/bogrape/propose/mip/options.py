"""`MipOptions`: how the paper's program is written and solved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Literal

from ...checks import is_number, whole
from ...errors import InvalidInputError


@dataclass(frozen=True, kw_only=True)
class MipOptions:
    """Choices of ``propose(method="mip")``.

    Attributes:
        form: ``"function"`` (K_xX and K⁻¹, as published) or ``"weight"`` (for SSP and SP only, and
            their default); see `bogrape.propose.mip.posterior`.
        symmetry: whether to add rows that leave out renumbered copies of a graph.
        gap: gap at which the solver may stop, relative to the standardised value.
        tight: tight big-M constants (erratum E12) instead of those in the paper.
        warm_start: number of acquisition values the local search may compute to find a start; 0 for
            no start.
        tolerance: feasibility tolerance given to the solver; ``None`` leaves the solver's own.
        threads: number of threads, for solvers that can use several.
        memory: memory limit in megabytes, or ``None``.
        pool: number of the solver's solutions that are decoded and compared.
        write: path to write the program to before it is solved (``.lp`` or ``.cip``).
    """

    form: Literal["function", "weight"] | None = None
    symmetry: bool = True
    gap: float = 1e-6
    tight: bool = True
    warm_start: int = 50_000
    tolerance: float | None = None
    threads: int = 1
    memory: float | None = None
    pool: int = 10
    write: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.form not in (None, "function", "weight"):
            _refuse("form", "'function', 'weight' or None", self.form)
        for name in ("symmetry", "tight"):
            if not isinstance(getattr(self, name), bool):
                _refuse(name, "True or False", getattr(self, name))
        for name, least in (("warm_start", 0), ("threads", 1), ("pool", 1)):
            object.__setattr__(self, name, whole(getattr(self, name), name, least))
        if not is_number(self.gap) or not 0 <= self.gap < math.inf:
            _refuse("gap", "a number >= 0", self.gap)
        if self.tolerance is not None and not (
            is_number(self.tolerance) and 1e-9 <= self.tolerance <= 1e-2
        ):
            _refuse("tolerance", "a number between 1e-9 and 1e-2, or None", self.tolerance)
        if self.memory is not None and not (is_number(self.memory) and 0 < self.memory < math.inf):
            _refuse("memory", "megabytes > 0, or None", self.memory)
        if self.write is not None and not isinstance(self.write, (str, PathLike)):
            _refuse("write", "a path or None", self.write)

    @classmethod
    def of(cls, given: Mapping[str, Any] | MipOptions | None) -> MipOptions:
        """Options from a mapping of their names, from options, or the defaults."""
        if isinstance(given, MipOptions):
            return given
        known = [field.name for field in fields(cls)]
        if given is not None and not isinstance(given, Mapping):
            _refuse("options", f"a mapping of {', '.join(known)}", given)
        odd = sorted(set(given or ()) - set(known))
        if odd:
            raise InvalidInputError(f"unknown option {odd[0]!r}; choose from {', '.join(known)}")
        return cls(**dict(given or {}))


def _refuse(name: str, expected: str, got: object) -> None:
    raise InvalidInputError(f"expected {name} to be {expected}, got {got!r}")
