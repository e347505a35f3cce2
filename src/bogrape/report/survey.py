"""`Survey`: all data for reports on a study, each computed once, when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from threadpoolctl import threadpool_limits

from ..arrays import FloatArray
from ..counts import count
from ..display import finite, gap_in_words
from ..errors import BoGrapeError, StudyError
from ..gp import GraphGP
from ..kernels import get_kernel, is_published, path_features
from ..left_out import Inverse, LeaveOneOut
from ..posterior import FittedModel
from ..study import Study, Trial
from ..study.results import mean_value
from ..study.several import front_of
from ..trial import observed_noise
from .effects import Effect, find_effects
from .picture import Look
from .text import acquisition_in_words
from .validation import Score, scores

_MOST_FITTED = 200  # observations for a fit of hyperparameters; more take minutes
_MOST_KEPT = 1200  # observations for a posterior: the size of its matrix
MOST_COMPARED = 100  # observations for the comparison of settings, which fits eight of them
MOST_NODES = 300  # of a graph in the posterior: counting paths in larger ones takes minutes
_LONGEST = 1e9  # seconds, thirty years: longer times in a database are not plausible
_WIDEST = 1e12  # gap; likewise
_SMALLEST = {"alpha": 1e-12, "beta": 0.0, "noise": 1e-12}  # accepted recorded hyperparameters
_LARGEST = 1e6


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Certificate stored with a trial; malformed entries are left out."""

    value: float | None
    bound: float | None
    gap: float | None  # for EI, of logarithms
    log_value: float | None
    status: str
    fit_seconds: float
    seconds: float
    predicted: tuple[float, float] | None

    @property
    def gap_in_words(self) -> str:
        """Gap: how much better another graph may have been."""
        return gap_in_words(self.gap, of_logs=self.log_value is not None)

    @property
    def gap_in_full(self) -> str:
        """The same as part of a sentence."""
        words = self.gap_in_words
        return words.replace("sd", "standard deviations").replace("×", "a factor of ")

    @property
    def value_in_words(self) -> str:
        """The acquisition value, or the logarithm of an improvement that underflows."""
        return acquisition_in_words(self.value, self.log_value)

    @classmethod
    def of(cls, trial: Trial) -> Certificate:
        """Read the certificate of a trial; the database may contain anything."""
        found = trial.certificate
        status = found.get("status")
        mean, std = finite(found.get("mean")), finite(found.get("std"))
        gap = finite(found.get("gap"))
        return cls(
            value=finite(found.get("value")),
            bound=finite(found.get("bound")),
            gap=gap if gap is not None and 0 <= gap <= _WIDEST else None,
            log_value=finite(found.get("log_value")),
            status=status if status in ("optimal", "time_limit", "heuristic") else "",
            fit_seconds=_seconds(found.get("fit_seconds")),
            seconds=_seconds(found.get("seconds")),
            predicted=None if mean is None or std is None or std < 0 else (mean, std),
        )


def _seconds(value: object) -> float:
    found = finite(value) or 0.0
    return found if 0.0 <= found <= _LONGEST else 0.0


@final
class Survey:
    """A study at one moment. What needs a fit raises `StudyError` if there is too little data.

    For several properties, values are the scores, if any; `of_property` selects one property.
    """

    def __init__(self, study: Study, of: str | None = None) -> None:
        self.study = study
        self.name = study.name
        self.settings = study.settings if of is None else study.settings.of_property(of)
        self.goals = self.settings.goals
        self.space = study.space
        self.changes = study.changes
        self.trials: tuple[Trial, ...] = study.trials
        if of is not None:
            self.trials = tuple(_with_one(trial, of) for trial in self.trials)
        self.complete = [trial for trial in self.trials if trial.state == "complete"]
        self.failed = [trial for trial in self.trials if trial.state == "failed"]
        self.values: FloatArray = np.array([trial.value for trial in self.complete], dtype=float)
        self.outside = np.array([bool(trial.outside) for trial in self.complete], dtype=bool)
        self.look = Look.of(study.space)
        self._certificates: dict[int, Certificate] = {}
        self._of_properties: dict[str, Survey] = {}

    @property
    def sign(self) -> float:
        """Factor that turns values into ones to be minimised."""
        return self.settings.sign

    @cached_property
    def candidates(self) -> list[Trial]:
        """Complete trials inside the space, or all complete trials if none is inside."""
        known = [trial for trial in self.complete if trial.value is not None]
        return [trial for trial in known if not trial.outside] or known

    @cached_property
    def ranked(self) -> list[tuple[Trial, float]]:
        """The distinct graphs with a value, best first: their first trial and mean value."""
        groups: dict[str, list[Trial]] = {}
        for trial in self.candidates:
            groups.setdefault(self.settings.space.identity(trial.graph), []).append(trial)
        means = [(group[0], mean_value(group)) for group in groups.values()]
        return sorted(means, key=lambda pair: self.sign * pair[1])

    @property
    def best(self) -> Trial | None:
        """The best trial, if there is one."""
        return self.ranked[0][0] if self.ranked else None

    @cached_property
    def front(self) -> list[tuple[Trial, dict[str, float]]]:
        """The Pareto front of several properties with their mean values; empty without one."""
        if self.goals is None or not self.goals.is_pareto:
            return []
        return front_of(self.goals, self.trials, self.space.identity)

    @property
    def measured(self) -> list[Trial]:
        """Complete trials that have values of all properties."""
        names = () if self.goals is None else self.goals.names
        return [trial for trial in self.complete if set(names) <= set(trial.values)]

    def of_property(self, name: str) -> Survey:
        """The same trials as observations of one property alone."""
        if name not in self._of_properties:
            self._of_properties[name] = Survey(self.study, name)
        return self._of_properties[name]

    @cached_property
    def best_so_far(self) -> FloatArray:
        """Best value inside the space after each complete trial; NaN before the first."""
        known = np.where(np.isnan(self.values), np.inf, self.sign * self.values)
        counted = np.where(self.outside & ~self.outside.all(), np.inf, known)
        best = np.minimum.accumulate(counted)
        return self.sign * np.where(np.isinf(best), np.nan, best)

    @property
    def proposals(self) -> list[Trial]:
        """Trials with a certificate."""
        return [trial for trial in self.trials if self.certificate(trial).value is not None]

    def certificate(self, trial: Trial) -> Certificate:
        """Certificate of the proposal of a trial."""
        if trial.id not in self._certificates:
            self._certificates[trial.id] = Certificate.of(trial)
        return self._certificates[trial.id]

    # -- the posterior ------------------------------------------------------------------------

    @cached_property
    def kept(self) -> list[Trial]:
        """Observations used for the posterior: all of them, or an even selection and the best.

        Graphs whose paths would take too long to count are left out; see `too_large`.
        """
        small = [trial for trial in self.complete if trial.graph.n_nodes <= MOST_NODES]
        some = _spread(small, _MOST_KEPT)
        best = next((trial for trial, _ in self.ranked if trial.graph.n_nodes <= MOST_NODES), None)
        if best is None or any(trial.id == best.id for trial in some):
            return some
        return sorted([*some, best], key=lambda trial: trial.id)

    @property
    def too_large(self) -> int:
        """Number of evaluated graphs that are too large for the posterior of a report."""
        return sum(trial.graph.n_nodes > MOST_NODES for trial in self.complete)

    def need(self, n: int, what: str) -> None:
        """Raise if there are too few observations."""
        if len(self.complete) < n:
            raise StudyError(
                f"{what} needs {n} evaluated graphs; there are {len(self.complete)} so far"
            )

    def _need_small(self, n: int, what: str) -> None:
        """Raise if there are too few graphs that are small enough for a posterior."""
        self.need(n, what)
        if len(self.kept) < n:
            raise StudyError(
                f"{what} needs {n} evaluated graphs with at most {MOST_NODES} nodes; there are "
                f"{len(self.kept)} so far"
            )

    @cached_property
    def gp(self) -> GraphGP:
        """The Gaussian process of the observations, with the study's kernel."""
        if self.goals is not None:
            raise StudyError(
                "this is available for a single value only; the study has several properties: "
                f"{', '.join(self.goals.names)}"
            )
        self._need_small(2, "a prediction")
        if self.settings.surrogate is not None:
            raise StudyError(
                "this is available for the Gaussian process only; the study uses a custom surrogate"
            )
        return self._fit()

    def _fit(self) -> GraphGP:
        """Gaussian process with the last proposal's hyperparameters, or fitted to a subset."""
        settings, trials = self.settings, self.kept
        some = _spread(trials, _MOST_FITTED)
        try:
            if get_kernel(settings.kernel).hyperparameters():  # itself fits those to a subset
                some = trials
            values = _recorded(self.proposals) if len(some) < len(trials) else None
            if values is None:
                found = settings.new_model(most_observations=None)
                self._fit_to(found, some)
                if len(some) == len(trials):
                    return found
                values = found.hyperparameters
            fixed = settings.new_model(
                noise=values["noise"],
                alpha=values["alpha"],
                beta=values["beta"] or None,
                feature_kernel=values["beta"] > 0,
                most_observations=None,
            )
            return self._fit_to(fixed, trials)
        except BoGrapeError as error:
            raise StudyError(f"the Gaussian process could not be fitted: {error}") from error

    def _fit_to(self, gp: GraphGP, trials: Sequence[Trial]) -> GraphGP:
        graphs = [trial.graph for trial in trials]
        return gp.fit(graphs, self._targets(trials), noise=observed_noise(trials))

    def _targets(self, trials: Sequence[Trial]) -> FloatArray:
        return self.sign * np.array([trial.value for trial in trials], dtype=float)

    @cached_property
    def _inverse(self) -> Inverse:
        return Inverse(self.gp.posterior.model)

    @cached_property
    def left_out(self) -> LeaveOneOut:
        """Predictions of each observation from all others, at the fitted hyperparameters.

        With a custom surrogate, which may be slow to fit: the predictions made for each proposal
        before it was evaluated.
        """
        self._need_small(3, "a leave-one-out prediction")
        if self.settings.surrogate is None:
            return LeaveOneOut.of(self._inverse, self.sign)
        known = [
            (trial.value, *predicted)
            for trial in self.complete
            if (predicted := self.certificate(trial).predicted) is not None
        ]
        if len(known) < 3:
            raise StudyError(
                "predictions of a custom surrogate are compared with the values of its proposals; "
                f"this needs 3 of them, and there are {len(known)} so far"
            )
        values, mean, std = np.array(known, dtype=float).T
        return LeaveOneOut.of_predictions(values, mean, std, self.sign)

    @property
    def capped(self) -> list[Trial]:
        """Trials whose values are capped by the setting ``cap``."""
        if self.settings.surrogate is not None:
            return []
        return [self.kept[i] for i in self.gp.capped]

    @property
    def cap(self) -> float:
        """The value that the model uses instead for the trials `capped`."""
        model = self.gp.posterior.model
        return self.sign * (model.y_mean + model.y_scale * float(model.y.max()))

    @property
    def clipped(self) -> list[Trial]:
        """Trials whose values the model clips because they are too far from the others."""
        if self.settings.surrogate is not None:
            return []
        return [self.kept[i] for i in self.gp.clipped]

    @cached_property
    def scores(self) -> list[Score]:
        """Leave-one-out scores of the current settings, followed by those of other settings.

        Computed from at most `MOST_COMPARED` observations, spread evenly.
        """
        self._need_small(3, "a comparison of settings")
        _ = self.gp  # raises unless the model is a Gaussian process
        some = self.compared
        graphs, targets = [trial.graph for trial in some], self._targets(some)
        return scores(graphs, targets, self.settings, observed_noise(some))

    @property
    def compared(self) -> list[Trial]:
        """The observations that `scores` uses."""
        return _spread(self.kept, MOST_COMPARED)

    @cached_property
    def effects(self) -> list[Effect]:
        """Drivers of the prediction: exchanges whose effect exceeds its uncertainty.

        Empty if leave-one-out predictions are no better than the mean.
        """
        _ = self.gp  # exchanges need its covariance
        if not self.left_out.knows_something:
            return []
        found = find_effects(
            self._inverse,
            self.space,
            [trial.graph for trial in self.kept],
            widening=self.left_out.widening,
            seed=self.settings.seed,
        )
        return [replace(effect, mean=self.sign * effect.mean) for effect in found]

    @cached_property
    def plane(self) -> FloatArray:
        """The observed graphs on a plane (T, 2): the principal axes of the kernel's features.

        With a custom surrogate: of the shares of labelled pairs at each distance.
        """
        self._need_small(3, "a map")
        if self.settings.surrogate is not None:
            counts = count([trial.graph for trial in self.kept], self.space.n_labels)
            paths = path_features(counts, labelled=True).reshape(len(counts), -1)
            with threadpool_limits(1):
                return _main_axes(paths)
        model = self.gp.posterior.model
        with threadpool_limits(1):
            if is_published(model.kernel):
                return _main_axes(_coordinates(model))
            return _main_axes_of_products(model.cross(model.counts))

    # -- times --------------------------------------------------------------------------------

    def seconds(self, trial: Trial) -> tuple[float, float, float]:
        """Time for the fit, the proposal and the evaluation of a trial."""
        certificate = self.certificate(trial)
        return certificate.fit_seconds, certificate.seconds, trial.evaluation_seconds or 0.0


def _with_one(trial: Trial, name: str) -> Trial:
    """A trial as if only one of its properties had been measured."""
    known, prefix = trial.state == "complete" and name in trial.values, f"{name}: "
    predicted = trial.predictions.get(name)
    named = {} if predicted is None else {"mean": predicted[0], "std": predicted[1]}
    return replace(
        trial,
        state=trial.state if known or trial.state != "complete" else "queued",
        value=trial.values[name] if known else None,
        noise=trial.noises.get(name) if known else None,
        values={},
        noises={},
        certificate={**trial.certificate, **named},
        hyperparameters={
            key.removeprefix(prefix): value
            for key, value in trial.hyperparameters.items()
            if key.startswith(prefix)
        },
    )


def _recorded(proposals: Sequence[Trial]) -> dict[str, float] | None:
    """Hyperparameters of the last proposal that has all of them, in the range of fitted ones."""
    for trial in reversed(proposals):
        found = {name: finite(trial.hyperparameters.get(name)) for name in _SMALLEST}
        known = {
            name: value
            for name, value in found.items()
            if value is not None and _SMALLEST[name] <= value <= _LARGEST
        }
        if len(known) == len(found):
            return known
    return None


def _spread(trials: Sequence[Trial], most: int) -> list[Trial]:
    if len(trials) <= most:
        return list(trials)
    chosen = np.unique(np.linspace(0, len(trials) - 1, most).round().astype(int))
    return [trials[i] for i in chosen.tolist()]


def _main_axes(z: FloatArray) -> FloatArray:
    """Coordinates of rows along the two directions of largest variance, (T, 2)."""
    z = z - z.mean(axis=0)
    if z.shape[1] >= len(z):  # the smaller of the two product matrices gives the axes
        return _main_axes_of_products(z @ z.T)
    out = np.zeros((len(z), 2))
    xy = z @ np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :2]
    out[:, : xy.shape[1]] = xy
    return out


def _main_axes_of_products(products: FloatArray) -> FloatArray:
    """Coordinates as in `_main_axes`, from the inner products of the rows."""
    middle = products.mean(axis=0)
    values, vectors = np.linalg.eigh(products - middle - middle[:, None] + middle.mean())
    out = np.zeros((len(products), 2))
    xy = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :2]
    out[:, : xy.shape[1]] = xy
    return out


def _coordinates(model: FittedModel) -> FloatArray:
    """Features of each graph under a kernel of the paper, weighted as in the fitted covariance."""
    counts = model.counts
    paths = path_features(counts, labelled=model.kernel.labelled).reshape(len(counts), -1)
    nodes = counts.features / (counts.sizes[:, None] * np.sqrt(model.n_features))
    return np.concatenate([np.sqrt(model.alpha) * paths, np.sqrt(model.beta) * nodes], axis=1)
