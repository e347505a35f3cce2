"""`Models`: what a study learns from its values, fitted when needed and kept until they change."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from ..errors import StudyError
from ..gp import GraphGP
from ..graph import Graph
from ..propose import JointModel
from ..propose.joint_criterion import score_of_prediction
from ..surrogate import FittedSurrogate
from ..trial import Trial, observed, observed_noise
from .settings import StudySettings

logger = logging.getLogger(__name__)

AnyModel = GraphGP | FittedSurrogate | JointModel


@final
class Models:
    """The model of the values of a study, or one for each of several properties.

    It depends only on the settings and the complete trials. What is kept saves time.
    """

    def __init__(self, settings: StudySettings) -> None:
        self.settings = settings
        self._fitted: tuple[tuple[Any, ...], GraphGP | FittedSurrogate] | None = None
        self._joint: tuple[tuple[Any, ...], JointModel] | None = None
        self._of_properties: dict[str, GraphGP] = {}
        self._inside: dict[int, bool] = {}  # by trial; its graph never changes
        self._named: set[int] = set()  # trials with a warning about a clipped value
        self._said_how_many = False

    def of(self, complete: Sequence[Trial]) -> AnyModel:
        """The model of these observations: of their values, or of all properties together."""
        return self.single(complete) if self.settings.goals is None else self.joint(complete)

    def can_model(self, complete: Sequence[Trial]) -> bool:
        """True if there are enough values to fit: two, or two of each of several properties.

        Several properties also need one graph that was measured in full, to improve on.
        """
        goals = self.settings.goals
        if goals is None:
            return len(complete) >= 2
        known = [sum(name in trial.values for trial in complete) for name in goals.names]
        full = any(set(goals.names) <= set(trial.values) for trial in complete)
        return full and min(known) >= 2

    def predict(self, trials: Sequence[Trial], graphs: Sequence[Graph]) -> Any:
        """Mean and standard deviation of each graph, in the user's units; several by property."""
        complete = [trial for trial in trials if trial.state == "complete"]
        if self.settings.goals is not None:
            if not self.can_model(complete):
                raise StudyError(
                    "a prediction needs two values of each of "
                    f"{', '.join(self.settings.goals.names)}, and one graph with all of them; ask "
                    "for graphs and tell their values, or add observations"
                )
            self.joint(complete)
            return {name: gp.predict(graphs) for name, gp in self._of_properties.items()}
        if len(complete) < 2:
            raise StudyError(
                f"a prediction needs two complete trials, and the study has {len(complete)}; ask "
                "for graphs and tell their values, or add observations"
            )
        mean, std = self.single(complete).predict(graphs)
        return self.settings.sign * mean, std

    def suspicious_ids(self, model: AnyModel, complete: Sequence[Trial]) -> dict[str, Any]:
        """Ids of the trials with values that the model sets aside, for the certificate."""
        if self.settings.noise != "robust" or isinstance(model, FittedSurrogate):
            return {}
        return {"suspicious": sorted(trial.id for trial in self.suspicious(complete))}

    def suspicious(self, trials: Sequence[Trial]) -> list[Trial]:
        """The complete trials with a value that all others contradict."""
        complete = [trial for trial in trials if trial.state == "complete"]
        if self.settings.noise != "robust" or not self.can_model(complete):
            return []
        if self.settings.goals is None:
            model = self.single(complete)
            places = model.suspicious if isinstance(model, GraphGP) else ()
            return [complete[i] for i in places]
        self.joint(complete)
        found: dict[int, Trial] = {}
        for name, gp in self._of_properties.items():
            known = [trial for trial in complete if name in trial.values]
            found |= {known[i].id: known[i] for i in gp.suspicious}
        return [found[number] for number in sorted(found)]

    def gps(self, model: AnyModel) -> list[GraphGP]:
        """The Gaussian processes of a model: one, one per property, or none."""
        if isinstance(model, JointModel):
            return list(self._of_properties.values())
        return [model] if isinstance(model, GraphGP) else []

    def hyperparameters(self, model: AnyModel) -> dict[str, float]:
        """Those of its Gaussian processes, as the start of the next fit; several by property."""
        if isinstance(model, JointModel):
            return {
                f"{name}: {key}": value
                for name, gp in self._of_properties.items()
                for key, value in gp.hyperparameters.items()
            }
        return dict(model.hyperparameters) if isinstance(model, GraphGP) else {}

    def predictions(self, model: AnyModel, graphs: Sequence[Graph]) -> list[dict[str, Any]]:
        """Prediction for each graph in the user's units."""
        sign = self.settings.sign
        if not isinstance(model, JointModel):
            pairs = zip(*model.predict(graphs), strict=True)
            return [{"mean": sign * float(mean), "std": float(std)} for mean, std in pairs]
        found = {name: gp.predict(graphs) for name, gp in self._of_properties.items()}
        out: list[dict[str, Any]] = []
        for i in range(len(graphs)):
            of_graph = {
                name: (float(mean[i]), float(std[i])) for name, (mean, std) in found.items()
            }
            known = {name: {"mean": mean, "std": std} for name, (mean, std) in of_graph.items()}
            kept: dict[str, float] = {}
            if (goals := self.settings.goals) is not None and goals.limits:
                logs = [
                    goals.limits[name].log_probability(*map(np.array, of_graph[name]))
                    for name in goals.limits
                ]
                kept["keeps_limits"] = float(np.exp(np.sum(logs)))
            pairs_of_targets = [of_graph[name] for name in model.goals.names]
            means, stds = (np.array([pair[k] for pair in pairs_of_targets]) for k in (0, 1))
            score = score_of_prediction(model.goals, means, stds)
            of_score = {} if score is None else {"mean": score[0], "std": score[1]}
            out.append({"properties": known, **kept, **of_score})
        return out

    def single(self, complete: Sequence[Trial]) -> GraphGP | FittedSurrogate:
        """The model of these observations, cached until there are new ones."""
        # with values, since these can be corrected
        ids = tuple((trial.id, trial.value, trial.noise) for trial in complete)
        if self._fitted is None or self._fitted[0] != ids:
            settings = self.settings
            graphs, y = [t.graph for t in complete], settings.sign * np.array(observed(complete))
            noise, inside = observed_noise(complete), self.are_inside(complete)
            if settings.surrogate is None:
                start = _last_hyperparameters(complete)
                gp = settings.new_model().fit(graphs, y, noise=noise, to_beat=inside, start=start)
                self._fitted = ids, gp
                self._say_how_many(len(gp.used), len(complete))
                for i in gp.clipped:
                    self._name_far_value(complete[i], complete[i].value)
            else:
                model = FittedSurrogate.fit(
                    settings.surrogate, graphs, y, noise=noise, to_beat=inside
                )
                self._fitted = ids, model
        return self._fitted[1]

    def joint(self, complete: Sequence[Trial]) -> JointModel:
        """One Gaussian process per property, fitted to the trials that have it."""
        goals, settings = self.settings.goals, self.settings
        assert goals is not None
        ids = tuple(
            (trial.id, *trial.values.items(), None, *trial.noises.items()) for trial in complete
        )
        if self._joint is None or self._joint[0] != ids:
            start = _last_hyperparameters(complete) or {}
            for name in goals.names:
                known = [trial for trial in complete if name in trial.values]
                prefix = f"{name}: "
                gp = settings.new_model().fit(
                    [trial.graph for trial in known],
                    np.array([trial.values[name] for trial in known]),
                    noise=[trial.noises.get(name, np.nan) for trial in known],
                    start={
                        key.removeprefix(prefix): value
                        for key, value in start.items()
                        if key.startswith(prefix)
                    },
                )
                self._of_properties[name] = gp
                self._say_how_many(len(gp.used), len(known))
                for i in gp.clipped:
                    self._name_far_value(known[i], known[i].values[name], f"{name} = ")
            full = [trial for trial in complete if set(goals.names) <= set(trial.values)]
            inside = self.are_inside(full)
            chosen = [t for t, good in zip(full, inside, strict=True) if good] or full
            kept = [trial for trial in chosen if goals.keeps_limits(goals.row(trial.values))]
            posteriors = {name: self._of_properties[name].posterior for name in goals.names}
            model = JointModel(
                goals=goals.without_limits,
                posteriors=tuple(posteriors[name] for name in goals.without_limits.names),
                measured=tuple(trial.graph for trial in kept or chosen),
                limits=tuple((limit, posteriors[name]) for name, limit in goals.limits.items()),
                keeps_none=not kept,
            )
            self._joint = ids, model
        return self._joint[1]

    def are_inside(self, trials: Sequence[Trial]) -> list[bool]:
        """For each trial, True if its graph is in the space."""
        fresh = [trial for trial in trials if trial.id not in self._inside]
        found = self.settings.space.contains_each([trial.graph for trial in fresh])
        for trial, inside in zip(fresh, found.tolist(), strict=True):
            self._inside[trial.id] = inside
        return [self._inside[trial.id] for trial in trials]

    def _say_how_many(self, n_used: int, n_observations: int) -> None:
        """Warn once that the model uses only a part of the observations."""
        if n_used < n_observations and not self._said_how_many:
            self._said_how_many = True
            logger.warning(
                "the study has %d observations; from now on its model uses %d of them: "
                "the best, the latest, and others that cover the space (see docs/studies.md)",
                n_observations,
                n_used,
            )

    def _name_far_value(self, trial: Trial, value: float | None, name: str = "") -> None:
        """Warn once per trial that its value is clipped."""
        if trial.id not in self._named:
            self._named.add(trial.id)
            logger.warning(
                "the value %s%g of trial %d is more than %g times as far from the median of all "
                "values as is typical: predictions and proposals use the nearest other value "
                "instead; if it is a mistake, correct it with study.correct",
                name,
                value,
                trial.id,
                self.settings.clip,
            )


def _last_hyperparameters(complete: Sequence[Trial]) -> Mapping[str, float] | None:
    """Hyperparameters of the latest proposal among these trials, as the start of a fit.

    Taken from the trials and not from the last fit, so that an interrupted study continues as if it
    had not been interrupted.
    """
    fitted = (trial.hyperparameters for trial in reversed(complete) if trial.hyperparameters)
    return next(fitted, None)
