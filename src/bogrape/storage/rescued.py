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
        changes: of the settings.
        trials: by number, each as it was written.
        lost: numbers of the trials that are not there. Without its entry nobody knows how many
            trials there were; then these are the gaps.
        is_complete: whether it is proved that these are all trials, each in its last version. If
            not, a trial may be there in an earlier version, for instance still pending.
    """

    name: str | None
    settings: Mapping[str, Any] | None
    changes: tuple[Mapping[str, Any], ...]
    trials: tuple[Trial, ...]
    lost: tuple[int, ...]
    is_complete: bool
