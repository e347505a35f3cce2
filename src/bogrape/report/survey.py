"""`Survey`: everything a report says about a study, computed once and when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..counts import Counts
from ..errors import BoGrapeError, StudyError
from ..gp import STUDY_CLIP, GraphGP
from ..kernels import get_kernel
from ..posterior import WeightPosterior
from ..study import Study, Trial
from .picture import Look

FloatArray = NDArray[np.float64]

_MOST_FITTED = 200  # observations for a fit of hyperparameters; more take minutes
_MOST_KEPT = 1200  # observations for a posterior: its matrix has so many rows and columns


@dataclass(frozen=True)
class LeaveOneOut:
    """Each observation as predicted from all others, in the user's units."""

    trials: tuple[Trial, ...]
    observed: FloatArray
    mean: FloatArray
    std: FloatArray

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.mean - self.observed).mean())

    @property
    def inside(self) -> float:
        """Share of the observations within two standard deviations."""
        return float((np.abs(self.mean - self.observed) <= 2 * self.std + 1e-12).mean())

    @property
    def correlation(self) -> float:
        """Correlation of predicted and observed; not a number where one of them is constant."""
        if len(self.mean) < 3 or self.mean.std() < 1e-12 or self.observed.std() < 1e-12:
            return float("nan")
        return float(np.corrcoef(self.mean, self.observed)[0, 1])


@dataclass(frozen=True)
class Driver:
    """One coordinate of the linear posterior: how the prediction changes with it."""

    distance: int  # 0 for a label or feature of nodes
    labels: tuple[int, ...]  # of the two ends; one label for a label of nodes; none if unlabelled
    feature: int | None
    effect: float  # of one standard deviation more of it, in the user's units


@final
class Survey:
    """A study at one moment. What needs a fit raises `StudyError` while too little is known."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.name = study.name
        self.settings = study.settings
        self.space = study.space
        self.trials: tuple[Trial, ...] = study.trials
        self.complete = [trial for trial in self.trials if trial.state == "complete"]
        self.failed = [trial for trial in self.trials if trial.state == "failed"]
        self.values: FloatArray = np.array([trial.value for trial in self.complete], dtype=float)
        self.look = Look.of(study.space)

    @property
    def sign(self) -> float:
        """Factor that turns values into ones to be minimised."""
        return self.settings.sign

    @cached_property
    def ranked(self) -> list[tuple[Trial, float]]:
        """The different graphs with a value, the best first: their first trial and mean value."""
        groups: dict[str, list[Trial]] = {}
        for trial in self.complete:
            groups.setdefault(trial.graph.canonical_key(), []).append(trial)
        means = [(group[0], fmean(t.value or 0.0 for t in group)) for group in groups.values()]
        return sorted(means, key=lambda pair: self.sign * pair[1])

    @property
    def best(self) -> Trial | None:
        """The best trial, if there is one."""
        return self.ranked[0][0] if self.complete else None

    @cached_property
    def best_so_far(self) -> FloatArray:
        """Best value after each complete trial."""
        return self.sign * np.minimum.accumulate(self.sign * self.values)

    @property
    def proposals(self) -> list[Trial]:
        """Trials with a certificate."""
        return [trial for trial in self.trials if trial.certificate.get("value") is not None]

    # -- the posterior ------------------------------------------------------------------------

    @cached_property
    def kept(self) -> list[Trial]:
        """The observations a posterior is made of: all, or so many spread evenly, and the best."""
        some = _spread(self.complete, _MOST_KEPT)
        if self.best is None or any(trial.id == self.best.id for trial in some):
            return some
        return sorted([*some, self.best], key=lambda trial: trial.id)

    def need(self, n: int, what: str) -> None:
        """Refuse while there are too few observations."""
        if len(self.complete) < n:
            raise StudyError(
                f"{what} needs {n} evaluated graphs, and there are {len(self.complete)} so far"
            )

    @cached_property
    def gp(self) -> GraphGP:
        """The Gaussian process of the observations, with the study's kernel."""
        self.need(2, "a prediction")
        return self._fit(self.settings.kernel)

    @cached_property
    def linear_gp(self) -> GraphGP:
        """The same with the linear kernel that sees what the study's kernel sees."""
        kernel = get_kernel(self.settings.kernel)
        if not kernel.exponential:
            return self.gp
        self.need(2, "a prediction")
        return self._fit("sp" if kernel.labelled else "ssp", recorded=False)

    def _fit(self, kernel: str, *, recorded: bool = True) -> GraphGP:
        """Hyperparameters from the last proposal, or fitted to a part where there are many."""
        trials, noise = self.kept, self.settings.noise
        some = _spread(trials, _MOST_FITTED)
        n_labels, seed = self.space.n_labels, self.settings.seed
        known = [t.hyperparameters for t in self.proposals if "alpha" in t.hyperparameters]
        try:
            if len(trials) <= _MOST_FITTED or not (recorded and known):
                found = GraphGP(kernel, noise, n_labels=n_labels, seed=seed, clip=STUDY_CLIP)
                found.fit([t.graph for t in some], self._targets(some))
                if len(some) == len(trials):
                    return found
                values = found.hyperparameters
            else:
                values = dict(known[-1])
            fixed = GraphGP(
                kernel,
                noise=values["noise"],
                n_labels=n_labels,
                alpha=values["alpha"],
                beta=values["beta"],
                feature_kernel=values["beta"] > 0,
                seed=seed,
                clip=STUDY_CLIP,
            )
            return fixed.fit([t.graph for t in trials], self._targets(trials))
        except BoGrapeError as error:
            raise StudyError(f"the Gaussian process could not be fitted: {error}") from error

    def _targets(self, trials: Sequence[Trial]) -> FloatArray:
        return self.sign * np.array([trial.value for trial in trials], dtype=float)

    @cached_property
    def left_out(self) -> LeaveOneOut:
        r"""Leave-one-out predictions at fixed hyperparameters, in closed form.

        .. math:: \mu_i = y_i - [K^{-1}y]_i / [K^{-1}]_{ii}, \qquad \sigma_i^2 = 1/[K^{-1}]_{ii}
        """
        self.need(3, "a leave-one-out prediction")
        model = self.gp.posterior.model
        with threadpool_limits(1):
            values, vectors = np.linalg.eigh(model.cross(model.counts))
        inverse = 1.0 / (np.maximum(values, 0.0) + model.noise)
        diagonal = (vectors**2) @ inverse
        mean = model.y - (vectors @ (inverse * (vectors.T @ model.y))) / diagonal
        return LeaveOneOut(
            tuple(self.kept),
            np.array([trial.value for trial in self.kept], dtype=float),
            self.sign * (model.y_mean + model.y_scale * mean),
            model.y_scale / np.sqrt(diagonal),
        )

    @cached_property
    def plane(self) -> FloatArray:
        """The observed graphs on a plane (T, 2): the main axes of what the kernel sees."""
        self.need(3, "a map")
        model = self.gp.posterior.model
        z = _coordinates(model.counts, self.gp)
        z = z - z.mean(axis=0)
        out = np.zeros((len(z), 2))
        with threadpool_limits(1):
            if z.shape[1] < len(z):  # the smaller of the two matrices of products tells the axes
                xy = z @ np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :2]
            else:
                values, vectors = np.linalg.eigh(z @ z.T)
                xy = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :2]
        out[:, : xy.shape[1]] = xy
        return out

    @cached_property
    def drivers(self) -> list[Driver]:
        """Coordinates of the linear posterior, the most telling first."""
        self.need(3, "the weights of a prediction")
        posterior = self.linear_gp.posterior
        assert isinstance(posterior, WeightPosterior)
        model = posterior.model
        z = posterior.features(model.counts)
        effect = self.sign * model.y_scale * posterior.weights * z.std(axis=0)
        shape = posterior.path_shape
        n_paths = int(np.prod(shape))
        paths = effect[:n_paths].reshape(shape)
        out = _path_drivers(paths, self.space.directed)
        for m, found in enumerate(effect[n_paths:].tolist()):
            label = m < model.counts.n_labels
            if label and model.counts.n_labels == 1:
                continue  # every node has it
            where = ((m,), None) if label else ((), m - model.counts.n_labels)
            out.append(Driver(0, where[0], where[1], found))
        sums: dict[tuple[int, tuple[int, ...], int | None], float] = {}
        for driver in out:  # a label counts among paths of length 0 and among the features
            key = (driver.distance, driver.labels, driver.feature)
            sums[key] = sums.get(key, 0.0) + driver.effect
        least = 1e-9 * model.y_scale
        merged = [Driver(*key, found) for key, found in sums.items() if abs(found) > least]
        return sorted(merged, key=lambda driver: -abs(driver.effect))

    # -- times --------------------------------------------------------------------------------

    def seconds(self, trial: Trial) -> tuple[float, float, float]:
        """Time for the fit, the proposal and the evaluation of a trial."""
        certificate = trial.certificate
        return (
            float(certificate.get("fit_seconds") or 0.0),
            float(certificate.get("seconds") or 0.0),
            trial.evaluation_seconds or 0.0,
        )


def _spread(trials: Sequence[Trial], most: int) -> list[Trial]:
    if len(trials) <= most:
        return list(trials)
    chosen = np.unique(np.linspace(0, len(trials) - 1, most).round().astype(int))
    return [trials[i] for i in chosen.tolist()]


def _coordinates(counts: Counts, gp: GraphGP) -> FloatArray:
    """What the kernel sees of each graph, weighted as in the fitted covariance."""
    model = gp.posterior.model
    paths = model.kernel.features(counts).reshape(len(counts), -1)
    nodes = counts.features / (counts.sizes[:, None] * np.sqrt(model.n_features))
    return np.concatenate([np.sqrt(model.alpha) * paths, np.sqrt(model.beta) * nodes], axis=1)


def _path_drivers(paths: FloatArray, directed: bool) -> list[Driver]:
    """Effects by distance, or by distance and pair of labels; both orders of a pair are one."""
    if paths.ndim == 1:
        return [Driver(s, (), None, float(paths[s])) for s in range(1, len(paths))]
    out = []
    n_lengths, n_labels, _ = paths.shape
    for s in range(n_lengths):
        for a in range(n_labels):
            for b in range(n_labels):
                if s == 0:
                    if a == b and n_labels > 1:
                        out.append(Driver(0, (a,), None, float(paths[0, a, a])))
                elif directed or a == b:
                    out.append(Driver(s, (a, b), None, float(paths[s, a, b])))
                elif a < b:
                    out.append(Driver(s, (a, b), None, float(paths[s, a, b] + paths[s, b, a])))
    return out
