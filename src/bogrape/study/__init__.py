"""Studies: ask for a graph, evaluate it anywhere, tell its value; told values are never lost."""

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
