"""Settings shared by all tests."""

from hypothesis import settings

# No deadline (shared machines are slow at times); the same examples on every run.
settings.register_profile("bogrape", deadline=None, derandomize=True, database=None)
settings.load_profile("bogrape")
