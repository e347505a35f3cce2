"""`StudySettings`: everything that fixes the course of a study, as plain data, checked once.

A new setting is a field of `StudySettings` and its type in `SearchOptions`. If `GraphGP` has a
parameter of that name, the setting is passed to it; `Study`, `minimize`, `Study.change`, study
files and the storage take it from the field.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, get_args, get_type_hints

from ..acquisition import EI, LCB, Acquisition
from ..checks import seconds, whole
from ..constraints import Rule
from ..errors import BoGrapeError, InvalidInputError, StudyError
from ..gp import STUDY_CLIP, STUDY_OBSERVATIONS, GraphGP
from ..import_path import is_import_path, load_object
from ..kernels import RBF, Kernel, KernelName, is_published
from ..properties import AtLeast, Combine, Goals, Maximize
from ..propose.portfolio import Method, check_method
from ..references import reference_to, resolve
from ..space import GraphSpace
from ..surrogate import SurrogateLike, unfitted

Direction = Literal["minimize", "maximize"]
Preset = Literal["paper"]
Failures = Literal["learn", "ignore"]
_Function = TypeVar("_Function", bound=Callable[..., Any])
ACQUISITIONS = ("lcb", "lcb-growing", "ei")
FIXED = ("seed", "direction")  # the trials so far depend on them; of the space, rules can be added
_PAPER = {"kernel": "ssp", "noise": 1e-6, "acquisition": LCB(1.0), "time_limit": 60.0}
# settings that go together; settings that are given override those of a preset
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"paper": _PAPER})
# Studies made before the defaults changed have recorded these, and keep them if programs and study
# files do not set them (`StudySettings.as_made`).
_EARLIER_DEFAULTS: Mapping[str, Any] = MappingProxyType(_PAPER)


class SearchOptions(TypedDict, total=False):
    """The settings of a study as keyword arguments, without its space and its initial design."""

    preset: Preset | None
    kernel: KernelName | Kernel
    surrogate: SurrogateLike | None
    noise: float | Literal["fit", "robust"]
    feature_kernel: bool
    alpha: float | None
    beta: float | None
    restarts: int
    clip: float | None
    cap: float | None
    most_observations: int | None
    acquisition: Acquisition | str
    method: Method
    solver: str | None
    options: Mapping[str, Any] | None
    time_limit: float
    n_evaluations: int | None
    seed: int
    direction: Direction
    retries: int
    properties: Mapping[str, Any] | None
    combine: Combine | None
    reference: Mapping[str, float] | None
    failures: Failures
    replicates: bool


class StudyOptions(SearchOptions, total=False):
    """The settings of a study as keyword arguments, without its space."""

    n_initial: int


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """Settings of a study, stored with it and compared when it is reopened.

    Attributes:
        space: the graphs to choose from.
        kernel: ``ssp``, ``sp``, ``essp``, ``esp``, ``rbf``, or one of your own
            (`bogrape.kernels.Kernel`). Kernels, surrogates and acquisitions may also be given as
            ``"package.module:name"``.
        surrogate: a model of your own in place of the Gaussian process, or a class or function
            without arguments that creates one (`bogrape.surrogate`). A copy of it is fitted for
            every proposal. The settings below up to ``most_observations`` do not apply to it.
        noise: noise variance of the standardised values, or ``"fit"``, even for values without
            noise, since graphs that look the same to the kernel may have different values. Noise
            given to `Study.tell` adds to it. ``"robust"`` also sets aside values that all others
            contradict (`bogrape.outliers`).
        feature_kernel: whether to add a kernel on labels and features of nodes; see `GraphGP`.
        alpha, beta: amplitudes of the kernel and of the feature kernel, to fix them instead of
            fitting them.
        restarts: number of starting points of each fit.
        clip: values farther from the median than this multiple of the typical distance are
            replaced by the nearest value that is not; ``None`` replaces none.
        cap: values that are worse than the median by more than this multiple of the typical
            distance, for instance 3, count as exactly that bad; ``None`` for no such limit. For
            objectives that give very bad values for many graphs.
        most_observations: maximum number of observations in the model if its cost grows with their
            cube; ``None`` for all. See `GraphGP`.
        acquisition: ``"lcb"``, ``"lcb-growing"``, ``"ei"``, ``LCB(kappa)``, ``EI(xi)``, or your
            own function of the mean, the deviation and the best observed value.
        method: how proposals are found; see `propose`.
        solver: ``"scip"`` or ``"gurobi"``, for ``method="mip"``.
        options: further options of ``method="mip"``; see `bogrape.propose.mip.MipOptions`.
        time_limit: seconds for one proposal; a proof that is not finished by then is given up.
        n_evaluations: number of acquisition values that local search computes per proposal;
            ``None`` for the default of `propose`.
        n_initial: number of graphs known or under evaluation before proposals begin.
        seed: fixes the initial design and every proposal.
        direction: ``minimize`` or ``maximize``.
        retries: how often a failed evaluation is tried again.
        properties: goals of several properties by name, if evaluations give several:
            ``"maximize"``, ``"minimize"`` or a goal of `bogrape.properties`, including limits
            such as ``AtMost(0.3)``. The direction is then ``maximize``, which is that of scores.
            ``None`` for studies of one value.
        combine: ``"pareto"``, ``"sum"``, ``"mean"`` or ``"geometric"``; by default ``"pareto"``
            if all properties are maximised or minimised, else ``"geometric"``.
        reference: for ``"pareto"``, a value of each property that graphs of interest beat.
        failures: ``"learn"``: once three evaluations have failed, proposals are weighted by the
            probability that they succeed (`bogrape.success`). ``"ignore"``: failed graphs are only
            not proposed again.
        replicates: whether to measure a graph again if that teaches more than a new one
            (`bogrape.study.replicates`): for objectives whose values differ from one measurement to
            the next.
    """

    space: GraphSpace
    kernel: KernelName | Kernel = "rbf"
    surrogate: SurrogateLike | None = None
    noise: float | Literal["fit", "robust"] = "fit"
    feature_kernel: bool = True
    alpha: float | None = None
    beta: float | None = None
    restarts: int = 5
    clip: float | None = STUDY_CLIP
    cap: float | None = None
    most_observations: int | None = STUDY_OBSERVATIONS
    acquisition: Acquisition | str = "ei"
    method: Method = "auto"
    solver: str | None = None
    options: Mapping[str, Any] | None = None
    time_limit: float = 10.0
    n_evaluations: int | None = None
    n_initial: int = 10
    seed: int = 0
    direction: Direction = "minimize"
    retries: int = 0
    properties: Mapping[str, Any] | None = None
    combine: Combine | None = None
    reference: Mapping[str, float] | None = None
    failures: Failures = "learn"
    replicates: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.space, GraphSpace):
            raise InvalidInputError(
                f"space must be a GraphSpace, got {type(self.space).__name__}; "
                "try GraphSpace(n_nodes=10)"
            )
        for name, least, why in (
            ("n_initial", 2, " (a Gaussian process needs two observations)"),
            ("seed", 0, ""),
            ("retries", 0, ""),
        ):
            object.__setattr__(self, name, whole(getattr(self, name), name + why, least))
        if self.n_evaluations is not None:
            number = whole(self.n_evaluations, "n_evaluations", 1)
            object.__setattr__(self, "n_evaluations", number)
        for name in ("kernel", "surrogate", "acquisition"):
            if is_import_path(getattr(self, name)):  # as study files name parts of your own
                object.__setattr__(self, name, _imported(getattr(self, name), name))
        kernel = self.new_model().kernel  # checks the settings of `GraphGP`
        if isinstance(kernel, RBF) and kernel == RBF():
            object.__setattr__(self, "kernel", kernel.name)  # as it is stored and compared
        elif not is_published(kernel):
            object.__setattr__(self, "kernel", kernel)
        if self.surrogate is not None:
            unfitted(self.surrogate)  # checks it
        check_method(self.method, self.solver, self.options)
        if self.options is not None:
            object.__setattr__(self, "options", _as_dict(self.options))
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
        if not isinstance(self.failures, str) or self.failures not in get_args(Failures):
            raise InvalidInputError(
                f"failures must be 'learn' or 'ignore', got {self.failures!r:.100}"
            )
        if not isinstance(self.replicates, bool):
            raise InvalidInputError(
                f"replicates must be True or False, got {self.replicates!r:.100}"
            )
        if self.replicates and (self.surrogate is not None or self.properties is not None):
            raise InvalidInputError(
                "replicates need a Gaussian process of a single value, got "
                f"{'several properties' if self.surrogate is None else 'a surrogate of your own'}; "
                "leave out one of the two, and use study.repeat(trial) to measure a graph again"
            )
        # "lcb" and LCB(1.0) are one setting, so they must be stored and compared as one.
        named = {"lcb": LCB(), "ei": EI()}
        if isinstance(self.acquisition, str) and self.acquisition in named:
            object.__setattr__(self, "acquisition", named[self.acquisition])
        object.__setattr__(self, "time_limit", seconds(self.time_limit, "time_limit"))
        self._check_properties()

    def _check_properties(self) -> None:
        """Settings of several properties in the form in which they are stored and compared."""
        if self.properties is None:
            for name in ("combine", "reference"):
                if getattr(self, name) is not None:
                    raise InvalidInputError(
                        f"{name} belongs to studies of several properties; try adding properties="
                        "{'qed': 'maximize', 'sa': 'minimize'}"
                    )
            return
        goals = Goals(self.properties, self.combine, self.reference)
        if self.surrogate is not None:
            raise InvalidInputError(
                "several properties are modelled by Gaussian processes, got a surrogate of your "
                "own; leave out one of the two"
            )
        if self.cap is not None:
            raise InvalidInputError(
                f"cap is for studies of one value, got cap={self.cap:g} with several properties; "
                "leave it out"
            )
        if self.method == "mip":
            raise InvalidInputError(
                "method 'mip' is for one value, got several properties; try method='auto'"
            )
        if goals.is_pareto and self.acquisition != EI():
            raise InvalidInputError(
                "a Pareto search takes acquisition 'ei', the expected improvement of the front, "
                f"got {self.acquisition!r:.100}; try combine='sum' for other acquisitions"
            )
        object.__setattr__(self, "properties", dict(goals.properties))
        object.__setattr__(self, "combine", goals.combine)
        plain = None if goals.reference is None else dict(goals.reference)
        object.__setattr__(self, "reference", plain)
        object.__setattr__(self, "direction", "maximize")

    @cached_property
    def goals(self) -> Goals | None:
        """Goals of several properties; ``None`` in a study of one value."""
        if self.properties is None:
            return None
        return Goals(self.properties, self.combine, self.reference)

    def of_property(self, name: str) -> StudySettings:
        """Settings of a study of one of the properties alone."""
        assert self.properties is not None
        wants_more = isinstance(self.properties[name], Maximize | AtLeast)
        return replace(
            self,
            properties=None,
            combine=None,
            reference=None,
            direction="maximize" if wants_more else "minimize",
        )

    def new_model(self, **instead: Any) -> GraphGP:
        """An unfitted Gaussian process with these settings, some replaced by ``instead``."""
        chosen = {name: getattr(self, name) for name in _OF_THE_MODEL}
        return GraphGP(**{**chosen, **instead})

    @property
    def sign(self) -> float:
        """Factor that turns the user's values into ones to be minimised, and back."""
        return -1.0 if self.direction == "maximize" else 1.0

    def acquisition_at(self, step: int) -> Acquisition:
        """The acquisition function of proposal number ``step`` = 0, 1, ..."""
        if isinstance(self.acquisition, str):  # the only name left after __post_init__
            return LCB.growing(step)
        return self.acquisition

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which `from_dict` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["space"] = json.loads(self.space.to_json())
        data["acquisition"] = _acquisition_to_data(self.acquisition)
        if isinstance(self.kernel, Kernel):
            data["kernel"] = reference_to(self.kernel, "kernel")
        if self.surrogate is not None:
            data["surrogate"] = reference_to(self.surrogate, "surrogate")
        if self.properties is not None:
            data["properties"] = {name: goal.to_dict() for name, goal in self.properties.items()}
        data["time_limit"] = None if math.isinf(self.time_limit) else self.time_limit
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StudySettings:
        """Settings from the output of `to_dict`, also of earlier versions with fewer settings."""
        known, got = set(_NAMES), set(data) if isinstance(data, dict) else set()
        if not set(_FIRST_RECORDED) <= got:
            shown = sorted(map(str, data)) if isinstance(data, dict) else type(data).__name__
            raise StudyError(
                f"settings of a study must have {', '.join(_FIRST_RECORDED)}, got {shown}"
            )
        if not got <= known:
            raise StudyError(
                f"the study has settings this version does not know "
                f"({', '.join(sorted(map(str, got - known)))}); it was made by a newer one: try "
                "pip install --upgrade bogrape"
            )
        limit = data["time_limit"]
        try:
            return cls(
                **{
                    **data,
                    "space": GraphSpace.from_json(json.dumps(data["space"])),
                    "kernel": _kernel_from_data(data["kernel"]),
                    "surrogate": _surrogate_from_data(data.get("surrogate")),
                    "acquisition": _acquisition_from_data(data["acquisition"]),
                    "time_limit": math.inf if limit is None else limit,
                }
            )
        except BoGrapeError:
            raise
        except (TypeError, ValueError, RecursionError) as error:
            raise StudyError(f"the settings of the study are invalid: {error}") from None

    def changed(self, add_rules: tuple[Rule, ...], changes: Mapping[str, Any]) -> StudySettings:
        """These settings with some changed; those that cannot change are refused."""
        changes = without_preset(changes)
        refuse_unknown(changes, of=StudySettings)
        space = self.space.with_rules([*self.space.rules, *add_rules]) if add_rules else self.space
        new = replace(self, **{"space": space, **changes})
        self.check_successor(new)
        return new

    def as_made(self, made: StudySettings, given: Collection[str]) -> StudySettings:
        """These settings, with the earlier defaults that a study was made with.

        Defaults change from version to version. If a setting is not ``given`` and the study has an
        earlier default, the study keeps that.
        """
        keeps = {
            name: value
            for name, value in _EARLIER_DEFAULTS.items()
            if name not in given and getattr(made, name) == value
        }
        return replace(self, **keeps)

    def check_successor(self, new: StudySettings) -> None:
        """Raise unless a study that has trials can continue with the new settings."""
        if not isinstance(new, StudySettings):
            raise InvalidInputError(f"settings must be a StudySettings, got {type(new).__name__}")
        fixed = [name for name in self.differences(new) if name in FIXED]
        rules = set(new.space.rules)
        if not set(self.space.rules) <= rules or self.space.with_rules(
            new.space.rules
        ) != new.space.with_rules(new.space.rules):
            fixed.append("space (rules can be added, and nothing else)")
        if (self.properties is None) != (new.properties is None):
            fixed = [name for name in fixed if name != "direction"]  # it follows from them
            fixed.append("properties (a study of one value stays one)")
        if fixed:
            raise _fixed(fixed)

    def differences(self, other: StudySettings) -> list[str]:
        """Names of the settings in which the two differ."""
        mine, theirs = self.to_dict(), other.to_dict()
        return [name for name in mine if mine[name] != theirs[name]]


_NAMES = tuple(field.name for field in fields(StudySettings))
SETTING_NAMES = tuple(name for name in _NAMES if name != "space")  # as keyword arguments
_OF_THE_MODEL = tuple(name for name in inspect.signature(GraphGP).parameters if name in _NAMES)
# Settings that every version has recorded. A study without the others was made before they existed,
# so they have their defaults.
_FIRST_RECORDED = (
    *("space", "kernel", "noise", "acquisition", "method", "time_limit", "n_initial", "seed"),
    *("direction", "retries"),
)


def for_new_study(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings given for a study, with their preset expanded.

    The paper's program supports only the paper's kernels and acquisition, so ``"paper"`` is the
    default preset for ``method="mip"``.
    """
    if given.get("method") == "mip" and given.get("preset") is None:
        given = {**given, "preset": "paper"}
    return without_preset(given)


def without_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """These settings with their preset expanded; settings that are given override it."""
    settings = dict(given)
    preset = settings.pop("preset", None)
    if preset is None:
        return settings
    if not isinstance(preset, str) or preset not in PRESETS:
        raise InvalidInputError(
            f"unknown preset {preset!r:.100}; choose one of {', '.join(PRESETS)}, or None for the "
            "default settings"
        )
    return {**PRESETS[preset], **settings}


def shows_settings(function: _Function) -> _Function:
    """Decorator: ``help`` and notebooks show the ``**settings`` of a function with defaults."""
    signature = inspect.signature(function)
    own = {name: p for name, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD}
    types, defaults = get_type_hints(StudySettings), inspect.signature(StudySettings).parameters
    shown = [
        defaults[name].replace(annotation=types[name]) for name in SETTING_NAMES if name not in own
    ]
    preset = inspect.Parameter(
        "preset", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Preset | None
    )
    whole = signature.replace(parameters=[*own.values(), preset, *shown])
    function.__signature__ = whole  # type: ignore[attr-defined]
    return function


def refuse_unknown(given: Iterable[str], *, of: Callable[..., Any]) -> None:
    """Raise if a name is not among the parameters of the function or class ``of``."""
    known = list(inspect.signature(of).parameters)
    for name in given:
        if name not in known:
            raise InvalidInputError(unknown_name(name, known))


def unknown_name(name: object, known: Sequence[str], what: str = "setting") -> str:
    """Message about an unknown name, with the most similar known one."""
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? Known" if near else "known"
    return f"unknown {what} {name!r:.60}; {hint} are {', '.join(known)}"


def _fixed(names: Sequence[str]) -> StudyError:
    changeable = [name for name in SETTING_NAMES if name not in FIXED]
    return StudyError(
        f"{', '.join(names)} cannot be changed in a study; you can change "
        f"{', '.join(changeable)}, and add rules. For anything else, start a new study with the "
        "same observations: new.add_all(zip(*old.dataset, old.noise))"
    )


def _as_dict(options: object) -> dict[str, Any]:
    """Options of a method, given as a mapping or as a dataclass."""
    if is_dataclass(options) and not isinstance(options, type):
        options = asdict(options)
    assert isinstance(options, Mapping)  # `check_method` refuses the rest
    return {name: fspath(v) if isinstance(v, PathLike) else v for name, v in options.items()}


def _imported(path: str, what: str) -> Any:
    """A user-defined part by its import path; classes are called without arguments."""
    found = load_object(path, f"the {what}")
    if not isinstance(found, type) or what == "surrogate":  # a surrogate may be a class
        return found
    try:
        return found()
    except TypeError as error:
        raise InvalidInputError(
            f"the {what} {path} cannot be made without arguments: {error}; try a function or an "
            "object of its module instead of the class"
        ) from None


def _kernel_from_data(data: Any) -> Any:
    return resolve(data, "kernel") if isinstance(data, dict) else data


def _surrogate_from_data(data: Any) -> Any:
    return None if data is None else resolve(data, "surrogate")


def _acquisition_to_data(acquisition: Acquisition | str) -> Any:
    if isinstance(acquisition, str):
        return {"name": acquisition}
    if isinstance(acquisition, LCB):
        return {"name": "lcb", "kappa": acquisition.kappa}
    if isinstance(acquisition, EI):
        return {"name": "ei", "xi": acquisition.xi}
    return reference_to(acquisition, "acquisition")


def _acquisition_from_data(data: Any) -> Acquisition | str:
    match data:
        case {"name": "lcb", "kappa": kappa}:
            return LCB(kappa)
        case {"name": "ei", "xi": xi}:
            return EI(xi)
        case {"name": "lcb-growing"}:
            return "lcb-growing"
        case {"import": _}:
            found: Acquisition = resolve(data, "acquisition")
            return found
    raise StudyError(f"unknown acquisition in the settings of the study: {str(data)[:100]}")
