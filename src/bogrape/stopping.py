"""Stopping rules of runs: a small regret bound, or a custom rule."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import final

from .checks import is_number
from .errors import InvalidInputError, StudyError
from .study import Study

logger = logging.getLogger(__name__)

StopWhen = float | Callable[[Study], bool]


@final
class Enough:
    """Decides after every evaluation whether a study may stop."""

    def __init__(self, study: Study, stop_when: StopWhen | None) -> None:
        self._study = study
        self._rule: Callable[[Study], bool] | None = None
        self._below = math.nan
        self._warned = False
        if callable(stop_when):
            self._rule = stop_when
        elif stop_when is not None:
            if not is_number(stop_when) or not 0 <= stop_when < math.inf:
                raise InvalidInputError(
                    "stop_when must be a regret >= 0 in units of the objective, or a function of "
                    f"the study, got {stop_when!r:.100}"
                )
            if study.settings.goals is not None:
                raise InvalidInputError(
                    "a regret to stop at needs a single value, and this study has several "
                    "properties; try a function of the study, for instance of its hypervolume"
                )
            self._below = float(stop_when)

    def is_reached(self) -> bool:
        """True if the rule is satisfied; a regret is checked after the initial design."""
        if self._rule is not None:
            said = bool(self._rule(self._study))
            if said:
                logger.info("stopped by the function given as stop_when")
            return said
        if math.isnan(self._below):
            return False
        complete = [trial for trial in self._study.trials if trial.state == "complete"]
        if len(complete) < self._study.settings.n_initial:
            return False
        try:
            found = self._study.regret_bound(record=True)
        except StudyError:  # too few observations
            return False
        if found.value > self._below:
            return False
        if found.calibrated is False:
            if not self._warned:
                logger.warning("not stopped: %s. %s", found, found.assumptions)
            self._warned = True
            return False
        logger.info("stopped: %s", found)
        return True
