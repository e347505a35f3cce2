"""``tanimoto-gp`` and ``forest``: models of fragment counts; a GA searches their acquisition.

``tanimoto-gp`` is the plain Bayesian optimisation of Tripp and Hernández-Lobato (2024): a Gaussian
process with the MinMax kernel on Morgan counts, amplitude 1 and noise 1e-4, and a lower confidence
bound whose exploration is drawn log-uniformly from 0.01 to 1 at each step. Values are standardised
here, since not every objective is a score from 0 to 1.

``forest`` is a random forest on the same counts with expected improvement, as in SMAC (Hutter
et al. 2011): mean and deviation over 100 trees.

Both breed candidates with `benchmarks.optimisers.graph_ga.offspring`: 5 generations of 60 from the
observed graphs and a few random ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bogrape.acquisition import EI, LCB, Acquisition
from bogrape.arrays import FloatArray
from bogrape.errors import MissingExtraError, SearchSpaceExhausted
from bogrape.graph import Graph

from ..fragments import Fragments, folded, fragments, min_max
from . import Choice, Settings, register
from .graph_ga import offspring
from .sampling import fresh_graphs

_NOISE = 1e-4
_KAPPA = (0.01, 1.0)
_TREES = 100
_RANDOM = 30
_GENERATIONS = 5
_OFFSPRING = 60
_POOL = 60

Predict = Callable[[Sequence[Fragments]], tuple[FloatArray, FloatArray]]
Fit = Callable[[Sequence[Fragments], FloatArray, np.random.Generator], tuple[Predict, Acquisition]]


def tanimoto(
    seen: Sequence[Fragments], values: FloatArray, rng: np.random.Generator
) -> tuple[Predict, Acquisition]:
    """Posterior of the process, and the bound to minimise."""
    from scipy.linalg import cho_factor, cho_solve

    mean, scale = float(values.mean()), float(values.std()) or 1.0
    factor = cho_factor(min_max(seen, seen) + _NOISE * np.eye(len(seen)))
    weights = cho_solve(factor, (values - mean) / scale)

    def predict(queries: Sequence[Fragments]) -> tuple[FloatArray, FloatArray]:
        cross = min_max(queries, seen)
        explained = np.einsum("ij,ji->i", cross, cho_solve(factor, cross.T))
        std = np.sqrt(np.maximum(1.0 - explained, 0.0))
        return mean + scale * (cross @ weights), scale * std

    low, high = np.log(_KAPPA)
    return predict, LCB(float(np.exp(rng.uniform(low, high))))


def forest(
    seen: Sequence[Fragments], values: FloatArray, rng: np.random.Generator
) -> tuple[Predict, Acquisition]:
    """Predictions of a random forest, and expected improvement."""
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        raise MissingExtraError(
            "forest needs scikit-learn, which is not installed; "
            "try pip install 'bogrape[baselines]'"
        ) from None
    trees = RandomForestRegressor(
        _TREES, max_features=1 / 3, min_samples_leaf=1, random_state=int(rng.integers(2**31))
    ).fit(folded(seen), values)

    def predict(queries: Sequence[Fragments]) -> tuple[FloatArray, FloatArray]:
        table = folded(queries)
        each = np.array([tree.predict(table) for tree in trees.estimators_])
        return each.mean(axis=0), each.std(axis=0)

    return predict, EI()


@dataclass(frozen=True)
class BredCandidates:
    """The candidate with the best acquisition value of those that a genetic algorithm breeds."""

    fit: Fit
    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """Fit, breed, choose."""
        space, rng = self.settings.space, np.random.default_rng(seed)
        observed = np.asarray(values, dtype=float)
        predict, acquisition = self.fit(fragments(space, graphs), observed, rng)
        known = set(map(space.identity, graphs))
        pool: list[Graph] = []
        scores = np.zeros(0)

        def add(candidates: Sequence[Graph]) -> None:
            nonlocal pool, scores
            fresh = []
            for graph in candidates:
                if (key := space.identity(graph)) not in known:
                    known.add(key)
                    fresh.append(graph)
            if not fresh:
                return
            found = acquisition(*predict(fragments(space, fresh)), float(observed.min()))
            scores, everything = np.concatenate([scores, found]), [*pool, *fresh]
            order = np.argsort(scores, kind="stable")[:_POOL]
            pool, scores = [everything[int(i)] for i in order], scores[order]

        add(fresh_graphs(space, _RANDOM, int(rng.integers(2**31)), graphs))
        add(offspring(space, graphs, values, _OFFSPRING, rng))
        for _ in range(_GENERATIONS - 1):
            add(offspring(space, pool, list(scores), _OFFSPRING, rng))
        if not pool:
            raise SearchSpaceExhausted("no graph is left that has not been observed")
        return Choice(graph=pool[0], value=float(scores[0]), status="heuristic")


def _registered(name: str, fit: Fit) -> None:
    @register(name)
    def factory(settings: Settings) -> BredCandidates:
        return BredCandidates(fit, settings)


_registered("tanimoto-gp", tanimoto)
_registered("forest", forest)
