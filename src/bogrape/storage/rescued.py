"""`RescuedStudy`: the readable part of a study in a damaged file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from ..trial import Trial


@final
@dataclass(frozen=True, kw_only=True)
class RescuedStudy:
    """Recovered part of a study.

    Attributes:
        name: its name; ``None`` if its entry is lost.
        settings: as `StudySettings.from_dict` reads them; ``None`` if its entry is lost.
        changes: changes of the settings.
        trials: trials by number, each as it was written.
        lost: numbers of missing trials. If the study's entry is lost, the number of trials is
            unknown, and these are the gaps between those found.
        is_complete: whether these are certainly all trials, each in its last version. If
            not, a trial may be in an earlier version, for instance still pending.
    """

    name: str | None
    settings: Mapping[str, Any] | None
    changes: tuple[Mapping[str, Any], ...]
    trials: tuple[Trial, ...]
    lost: tuple[int, ...]
    is_complete: bool
