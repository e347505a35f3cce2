"""`StudySettings`: everything that fixes the course of a study, as plain data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from ..acquisition import EI, LCB, Acquisition
from ..constraints import Rule
from ..errors import BoGrapeError, InvalidInputError, StudyError, UnsupportedError
from ..gp import GraphGP
from ..kernels import KernelName
from ..propose.portfolio import METHODS, Method
from ..space import GraphSpace

Direction = Literal["minimize", "maximize"]
# What `Study.change` may change: settings that say nothing about the trials so far.
CHANGEABLE = ("kernel", "noise", "acquisition", "method", "time_limit", "n_initial", "retries")
ACQUISITIONS = ("lcb", "lcb-growing", "ei")


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """What a study is about and how it goes on; stored with it and compared when it is reopened.

    Attributes:
        space: the graphs to choose from.
        kernel: ``ssp``, ``sp``, ``essp`` or ``esp``.
        noise: noise variance of the standardised values, or ``"fit"`` for noisy objectives.
        acquisition: ``"lcb"``, ``"lcb-growing"``, ``"ei"``, ``LCB(kappa)``, ``EI(xi)``, or, in
            memory only, any acquisition function of your own.
        method: how proposals are found; see `propose`.
        time_limit: seconds for one proposal.
        n_initial: number of graphs known or under evaluation before proposals begin.
        seed: fixes the initial design and every proposal.
        direction: ``minimize`` or ``maximize``.
        retries: how often a failed evaluation is tried again.
    """

    space: GraphSpace
    kernel: KernelName = "ssp"
    noise: float | Literal["fit"] = 1e-6
    acquisition: Acquisition | str = "lcb"
    method: Method = "auto"
    time_limit: float = 60.0
    n_initial: int = 10
    seed: int = 0
    direction: Direction = "minimize"
    retries: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.space, GraphSpace):
            raise InvalidInputError(
                f"space must be a GraphSpace, got {type(self.space).__name__}; "
                "try GraphSpace(n_nodes=10)"
            )
        GraphGP(kernel=self.kernel, noise=self.noise)  # checks both
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise InvalidInputError(
                f"unknown method {self.method!r:.100}; choose one of {', '.join(METHODS)}"
            )
        if isinstance(self.acquisition, str) and self.acquisition not in ACQUISITIONS:
            raise InvalidInputError(
                f"unknown acquisition {self.acquisition!r}; choose one of "
                f"{', '.join(ACQUISITIONS)}, or give LCB(kappa) or EI(xi)"
            )
        if not isinstance(self.acquisition, str) and not callable(self.acquisition):
            raise InvalidInputError(
                f"acquisition must be a name or a function, got {self.acquisition!r:.100}"
            )
        if not isinstance(self.direction, str) or self.direction not in get_args(Direction):
            raise InvalidInputError(
                f"direction must be 'minimize' or 'maximize', got {self.direction!r:.100}"
            )
        for name, least in (("n_initial", 2), ("seed", 0), ("retries", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                hint = "; a Gaussian process needs two observations" if least == 2 else ""
                raise InvalidInputError(
                    f"{name} must be an integer >= {least}, got {value!r}{hint}"
                )
            object.__setattr__(self, name, int(value))
        # "lcb" and LCB(1.0) are one setting, so they must be stored and compared as one.
        named = {"lcb": LCB(), "ei": EI()}
        if isinstance(self.acquisition, str) and self.acquisition in named:
            object.__setattr__(self, "acquisition", named[self.acquisition])
        object.__setattr__(self, "time_limit", as_time_limit(self.time_limit))

    @property
    def sign(self) -> float:
        """Factor that turns the user's values into ones to be minimised, and back."""
        return -1.0 if self.direction == "maximize" else 1.0

    def acquisition_at(self, step: int) -> Acquisition:
        """The acquisition function of the proposal number ``step`` = 0, 1, ..."""
        if isinstance(self.acquisition, str):  # the only name left after __post_init__
            return LCB.growing(step)
        return self.acquisition

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold and `from_dict` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["space"] = json.loads(self.space.to_json())
        data["acquisition"] = _acquisition_to_data(self.acquisition)
        data["time_limit"] = None if math.isinf(self.time_limit) else self.time_limit
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StudySettings:
        """Read what `to_dict` wrote."""
        known = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != known:
            got = sorted(map(str, data)) if isinstance(data, dict) else type(data).__name__
            raise StudyError(f"settings of a study must have {sorted(known)}, got {got}")
        limit = data["time_limit"]
        try:
            return cls(
                **{
                    **data,
                    "space": GraphSpace.from_json(json.dumps(data["space"])),
                    "acquisition": _acquisition_from_data(data["acquisition"]),
                    "time_limit": math.inf if limit is None else limit,
                }
            )
        except BoGrapeError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise StudyError(f"the settings of the study make no sense: {error}") from None

    def changed(self, add_rules: tuple[Rule, ...], changes: Mapping[str, Any]) -> StudySettings:
        """These settings with some changed; those that cannot change are refused."""
        unknown = set(changes) - {field.name for field in fields(self)}
        if unknown:
            raise _fixed(sorted(unknown))
        space = self.space.with_rules([*self.space.rules, *add_rules]) if add_rules else self.space
        new = replace(self, **{"space": space, **changes})
        self.check_successor(new)
        return new

    def check_successor(self, new: StudySettings) -> None:
        """Raise unless a study with trials of its own can go on with the new settings."""
        if not isinstance(new, StudySettings):
            raise InvalidInputError(f"settings must be a StudySettings, got {type(new).__name__}")
        fixed = [name for name in self.differences(new) if name not in (*CHANGEABLE, "space")]
        rules = set(new.space.rules)
        if not set(self.space.rules) <= rules or self.space.with_rules(
            new.space.rules
        ) != new.space.with_rules(new.space.rules):
            fixed.append("space (rules can be added, and nothing else)")
        if fixed:
            raise _fixed(fixed)

    def differences(self, other: StudySettings) -> list[str]:
        """Names of the settings in which the two differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [name for name in mine if mine[name] != theirs[name]]


def as_time_limit(value: object) -> float:
    """A number of seconds > 0, which may be infinite."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not value > 0:  # type: ignore[operator]
        raise InvalidInputError(f"time_limit must be a number of seconds > 0, got {value!r:.100}")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer beyond the range of floats
        return math.inf


def _fixed(names: Sequence[str]) -> StudyError:
    return StudyError(
        f"{', '.join(names)} cannot be changed in a study; what can is {', '.join(CHANGEABLE)}, "
        "and rules can be added. For anything else begin a new study, and take the observations "
        "along: new.add_all(zip(*old.dataset))"
    )


def _acquisition_to_data(acquisition: Acquisition | str) -> Any:
    if isinstance(acquisition, str):
        return {"name": acquisition}
    if isinstance(acquisition, LCB):
        return {"name": "lcb", "kappa": acquisition.kappa}
    if isinstance(acquisition, EI):
        return {"name": "ei", "xi": acquisition.xi}
    raise UnsupportedError(
        f"an acquisition function of your own ({type(acquisition).__name__}) cannot be stored; use "
        "LCB, EI or 'lcb-growing', or a study without storage"
    )


def _acquisition_from_data(data: Any) -> Acquisition | str:
    match data:
        case {"name": "lcb", "kappa": kappa}:
            return LCB(kappa)
        case {"name": "ei", "xi": xi}:
            return EI(xi)
        case {"name": "lcb-growing"}:
            return "lcb-growing"
    raise StudyError(f"unknown acquisition in the settings of the study: {str(data)[:100]}")
