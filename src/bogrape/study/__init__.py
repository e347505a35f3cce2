"""Studies: ask for a graph, evaluate it anywhere, tell its value; nothing that was told is lost."""

from .memory import InMemoryStorage
from .results import Dataset, TrialList
from .settings import StudySettings
from .store import Storage
from .study import Study
from .trial import Trial

__all__ = ["Dataset", "InMemoryStorage", "Storage", "Study", "StudySettings", "Trial", "TrialList"]
