"""Studies: ask for a graph, evaluate it anywhere, tell its value; nothing that was told is lost."""

from ..storage import InMemoryStorage, Storage
from ..trial import Trial
from .regret import RegretBound
from .results import Dataset, TrialList
from .settings import StudySettings
from .signature import Signature
from .study import Study
from .values import Measurement

__all__ = [
    "Dataset",
    "InMemoryStorage",
    "Measurement",
    "RegretBound",
    "Signature",
    "Storage",
    "Study",
    "StudySettings",
    "Trial",
    "TrialList",
]
