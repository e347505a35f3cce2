"""Any input gives an answer, or an error of the package with a sentence."""

from __future__ import annotations

import random
import traceback

import pytest

from bogrape.errors import BoGrapeError

from fuzz import Entries

STUDY_FILE = """
[space]
n_nodes = 4
labels = 2
[search]
n_initial = 3
method = "sample"
time_limit = 2.0
"""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Entries:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "study.toml").write_text(STUDY_FILE, encoding="ascii")
    return Entries(folder)


NAMES = sorted(name.removeprefix("call_") for name in dir(Entries) if name.startswith("call_"))


def leaks(entries: Entries, name: str, seeds: range) -> list[str]:
    """Calls that raised an error from outside the package, or one with hardly any message."""
    found = []
    for seed in seeds:
        try:
            entries.all[name](random.Random(seed))
        except BoGrapeError as error:
            if len(str(error)) < 15:
                found.append(f"seed {seed}: {type(error).__name__} says {str(error)[:100]!r}")
        except Exception:
            found.append(f"seed {seed}: {traceback.format_exc(limit=-4)}")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_odd_input_is_answered_or_refused_with_a_sentence(
    name: str, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(entries.folder)
    assert leaks(entries, name, range(40)) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_thirty_thousand_odd_inputs_are_answered_or_refused_with_a_sentence(
    name: str, entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(entries.folder)
    assert leaks(entries, name, range(1000, 1000 + 30_000 // len(NAMES) + 1)) == []
