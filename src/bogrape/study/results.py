"""Results of a study, and lists of trials that notebooks show as pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple, final

import numpy as np

from .. import display
from ..errors import StudyError
from ..graph import Graph
from ..trial import Trial, observed, observed_noise


class Dataset(NamedTuple):
    """Observations in the order of their trials, in your units.

    Values of several properties are a list of dictionaries, without those that were not measured.
    """

    graphs: list[Graph]
    values: Any


@final
class TrialList(list[Trial]):
    """A list of trials that a notebook shows as pictures with values."""

    def _repr_html_(self) -> str | None:
        return display.html(self)


def dataset_of(trials: Iterable[Trial]) -> Dataset:
    """Graphs and values of the complete trials."""
    complete = [trial for trial in trials if trial.state == "complete"]
    if any(trial.values for trial in complete):
        return Dataset([t.graph for t in complete], [dict(t.values) for t in complete])
    return Dataset([trial.graph for trial in complete], np.array(observed(complete)))


def best_of(trials: Iterable[Trial], sign: float, identify: Callable[[Graph], str]) -> Trial:
    """The first trial of the graph whose mean value, times the sign, is smallest."""
    repeats: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.value is not None:
            repeats.setdefault(identify(trial.graph), []).append(trial)
    if not repeats:
        raise StudyError("no trial is complete yet: ask for one, evaluate it and tell its value")
    return min(repeats.values(), key=lambda group: sign * mean_value(group))[0]


def mean_value(trials: Sequence[Trial]) -> float:
    """Mean of the values of the complete trials.

    Weighted by accuracy, ``1 / noise``, if the noise of all of them is known.
    """
    values, noise = observed(trials), observed_noise(trials)
    if all(variance > 0 for variance in noise):  # false for NaN
        weights = [min(noise) / variance for variance in noise]
        total = math.fsum(weights)
        return math.fsum(weight / total * v for weight, v in zip(weights, values, strict=True))
    try:
        return fmean(values)
    except OverflowError:  # the sum is beyond the range of floats, the mean is not
        return sum(value / len(values) for value in values)
