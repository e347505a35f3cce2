"""Studies: ask for a graph, evaluate it anywhere, tell its value; nothing that was told is lost."""

from ..storage import InMemoryStorage, Storage
from ..trial import Trial
from .results import Dataset, TrialList
from .settings import StudySettings
from .study import Study

__all__ = ["Dataset", "InMemoryStorage", "Storage", "Study", "StudySettings", "Trial", "TrialList"]
