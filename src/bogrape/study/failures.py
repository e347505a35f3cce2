"""Learning from failures: those that say something about their graphs, and a model of success.

A failure counts against its graph unless it is known to have another cause: a lost worker or job,
an evaluation that never began, a withdrawn value, or a rule added meanwhile (`Trial.succeeded`).
Once three failures count, and two evaluations have succeeded, proposals are weighted by the
probability that they succeed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import display
from ..gp import GraphGP
from ..posterior import Posterior
from ..propose import JointModel
from ..success import SuccessModel
from ..surrogate import FittedSurrogate
from ..trial import Trial
from .settings import StudySettings

FEWEST_FAILURES, FEWEST_SUCCESSES = 3, 2
_MOST_BELIEVED = 200  # failures, the latest


class Failures:
    """The model of success of the trials so far; kept until there are new outcomes."""

    def __init__(self, settings: StudySettings) -> None:
        self._settings = settings
        self._fitted: tuple[tuple[Any, ...], SuccessModel] | None = None

    def model(self, trials: Sequence[Trial]) -> SuccessModel | None:
        """The model; ``None`` while there are too few outcomes, or if failures are ignored.

        Also ``None`` with ``method="mip"``: the mixed-integer program cannot represent it.
        """
        if self._settings.failures == "ignore" or self._settings.method == "mip":
            return None
        outcomes = [trial for trial in trials if trial.succeeded is not None]
        succeeded = np.array([trial.succeeded is True for trial in outcomes], dtype=bool)
        n_succeeded = int(succeeded.sum())
        if n_succeeded < FEWEST_SUCCESSES or len(outcomes) - n_succeeded < FEWEST_FAILURES:
            return None
        known = tuple((trial.id, trial.succeeded) for trial in outcomes)
        if self._fitted is None or self._fitted[0] != known:
            gp = self._settings.new_model(noise="fit", alpha=None, beta=None, clip=None, cap=None)
            graphs = [trial.graph for trial in outcomes]
            fitted = SuccessModel.fit(graphs, succeeded, gp)
            known_odds = [display.finite(t.certificate.get("success_odds")) for t in outcomes]
            foretold = np.array([odds is not None for odds in known_odds], dtype=bool)
            odds = [odds for odds in known_odds if odds is not None]
            self._fitted = known, fitted.recalibrated(odds, succeeded[foretold])
        return self._fitted[1]

    def believed(
        self, model: GraphGP | JointModel | FittedSurrogate, trials: Sequence[Trial]
    ) -> Posterior | JointModel | FittedSurrogate:
        """The model of values, less uncertain where evaluations have failed.

        A failure gives no value, so the uncertainty there would never shrink, and similar graphs
        would be proposed for ever. Means and the value to beat do not change.
        """
        if isinstance(model, FittedSurrogate):
            return model
        failed = [trial.graph for trial in trials if trial.succeeded is False][-_MOST_BELIEVED:]
        posterior = model if isinstance(model, JointModel) else model.posterior
        return posterior.believe(failed, to_beat=False)
