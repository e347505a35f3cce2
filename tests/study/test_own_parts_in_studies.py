"""Studies with user-defined parts: asked and told, stored by import path, reopened, reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import GraphSpace, Study, minimize
from bogrape.errors import InvalidInputError, StudyError, UnsupportedError
from bogrape.kernels import register_kernel
from bogrape.references import reference_to, resolve
from bogrape.report import report_html
from bogrape.study.settings import StudySettings
from own_parts import Constant, Edges, Gaussian, Neighbours, Optimist, uncertain_middle

SPACE = GraphSpace(5, labels=2)
PARTS: dict[str, dict[str, Any]] = {
    "kernel": {"kernel": Gaussian(0.5)},
    "surrogate": {"surrogate": Neighbours(2)},
    "made surrogate": {"surrogate": Neighbours},
    "acquisition": {"acquisition": Optimist(2.0)},
    "function": {"acquisition": uncertain_middle},
}


def value(graph: Any) -> float:
    return float((graph.n_edges - 6) ** 2 + graph.labels.sum())


def filled(storage: str | None, n: int = 6, **parts: Any) -> Study:
    study = Study(SPACE, storage, n_initial=4, seed=2, time_limit=20, **parts)
    for _ in range(n - len(study.trials)):
        trial = study.ask()
        study.tell(trial, value(trial.graph))
    return study


@pytest.mark.parametrize("name", PARTS)
def test_a_stored_study_can_be_reopened_and_continued(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = filled(url, **PARTS[name])
    assert study.trials[-1].certificate["status"] == "optimal"
    again = Study.load(url)
    assert again.settings == study.settings
    here, there = (s.predict([study.trials[0].graph]) for s in (study, again))
    np.testing.assert_allclose(here, there)
    assert (
        filled(url, 7, **PARTS[name]).trials[6].graph
        == filled(None, 7, **PARTS[name]).trials[6].graph
    )


def test_a_study_is_the_same_whether_it_was_interrupted_or_not(tmp_path: Path) -> None:
    """Each proposal fits a fresh surrogate, so nothing depends on what was fitted before."""
    parts = {"surrogate": Neighbours(2)}
    once = filled(None, 8, **parts)
    for n in range(4, 9):
        study = filled(f"sqlite:///{tmp_path}/study.db", n, **parts)
    assert [t.graph for t in study.trials] == [t.graph for t in once.trials]


def test_a_batch_with_a_user_defined_surrogate_has_different_graphs() -> None:
    study = filled(None, 5, surrogate=Neighbours(2))
    asked = study.ask(3)
    assert len({trial.graph.canonical_key() for trial in asked}) == 3


def test_a_registered_kernel_is_chosen_by_name_and_stored_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bogrape.kernels._OWN", {})
    register_kernel(Edges())
    url = f"sqlite:///{tmp_path}/study.db"
    study = filled(url, 5, kernel="edges")
    assert study.settings.to_dict()["kernel"] == {"import": "own_parts:Edges", "arguments": {}}
    monkeypatch.setattr("bogrape.kernels._OWN", {})  # as in another process
    assert isinstance(Study.load(url).settings.kernel, Edges)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"import": "no_such_module:Gaussian"}, "there is no module 'no_such_module'; run where"),
        ({"import": "own_parts:NoSuchKernel"}, "'own_parts' has no 'NoSuchKernel'"),
        ({"import": "__main__:NoSuchKernel"}, "move it from the script or notebook that made it"),
        (
            {"import": "own_parts:Gaussian", "arguments": {"width": 1}},
            "cannot be made from what was stored: .*'width'",
        ),
        ({"import": "own_parts:Edges", "arguments": {"a": 1}}, "to be a dataclass"),
        ({"import": "os:getcwd", "arguments": {}}, "to be a class"),
        (
            {"import": "__main__:Gaussian", "defined in": "the script mine.py"},
            "was defined in the script mine.py, and this is .*: open the study from there",
        ),
        ({"import": "nonsense"}, "expected the import path"),
        ({"import": "os:PathLike"}, "expected a kernel that derives from"),
    ],
)
def test_a_study_whose_kernel_is_gone_says_so_in_one_line(stored: Any, message: str) -> None:
    data = StudySettings(space=SPACE, kernel=Gaussian()).to_dict()
    data["kernel"] = stored
    with pytest.raises((StudyError, InvalidInputError), match=message) as caught:
        StudySettings.from_dict(json.loads(json.dumps(data)))
    assert "\n" not in str(caught.value)


def test_parts_without_an_import_path_are_refused_by_a_file_and_work_in_memory(
    tmp_path: Path,
) -> None:
    class Local(Neighbours):
        pass

    for parts in ({"surrogate": Local()}, {"surrogate": lambda: Neighbours(1)}):
        filled(None, 5, **parts)
        with pytest.raises(UnsupportedError, match="cannot be stored: it cannot be found"):
            Study(SPACE, f"sqlite:///{tmp_path}/study.db", **parts)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="got the attributes answer; make it a dataclass"):
        reference_to(Constant(3), "surrogate")
    with pytest.raises(UnsupportedError, match="fields that are numbers, texts"):
        reference_to(Neighbours(k=object()), "surrogate")  # type: ignore[arg-type]


def test_parts_may_be_named_by_import_path() -> None:
    named = StudySettings(
        space=SPACE, kernel="own_parts:Gaussian", acquisition="own_parts:uncertain_middle"
    )
    assert named == StudySettings(space=SPACE, kernel=Gaussian(), acquisition=uncertain_middle)
    assert StudySettings(space=SPACE, acquisition="own_parts:Optimist").acquisition == Optimist()
    with pytest.raises(InvalidInputError, match="the kernel 'nowhere:K' cannot be loaded"):
        StudySettings(space=SPACE, kernel="nowhere:K")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cannot be made without arguments"):
        StudySettings(space=SPACE, acquisition="own_parts:Constant")


def test_references_are_resolved_to_the_same_objects() -> None:
    for thing in (Gaussian(0.7), Neighbours, Optimist(), uncertain_middle):
        assert resolve(json.loads(json.dumps(reference_to(thing, "part"))), "part") == thing


def test_invalid_parts_are_refused_at_once() -> None:
    with pytest.raises(InvalidInputError, match="expected a surrogate with fit"):
        Study(SPACE, surrogate=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected an instance of a kernel"):
        Study(SPACE, kernel=Gaussian)  # type: ignore[arg-type]


# -- the report -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARTS)
def test_a_report_shows_effects_only_for_gaussian_processes(name: str) -> None:
    study = filled(None, 9, **PARTS[name])
    page = report_html(study)
    assert "your_own" in page
    said = "What drives the prediction" in page
    assert not said or "surrogate" not in PARTS[name]
    assert "Predictions of left-out graphs are off by" in page


def test_the_report_compares_predictions_of_a_surrogate_with_measured_values() -> None:
    from bogrape.report.survey import Survey

    study = filled(None, 9, surrogate=Neighbours(2))
    found = Survey(study).left_out
    proposed = [trial for trial in study.trials if trial.origin == "proposal"]
    np.testing.assert_allclose(found.observed, [trial.value for trial in proposed], atol=1e-9)
    np.testing.assert_allclose(found.mean, [t.certificate["mean"] for t in proposed], atol=1e-9)
    with pytest.raises(StudyError, match="Gaussian process only"):
        Survey(study).effects  # noqa: B018
    assert Survey(study).plane.shape == (9, 2)


def test_maximising_negates_the_values_of_a_surrogate() -> None:
    def negative(graph: Any) -> float:
        return -value(graph)

    up = minimize(
        negative, SPACE, 3, 4, surrogate=Neighbours(2), direction="maximize", progress=False
    )
    down = minimize(value, SPACE, 3, 4, surrogate=Neighbours(2), progress=False)
    assert [t.graph for t in up.trials] == [t.graph for t in down.trials]
    graphs = [t.graph for t in up.trials[:2]]
    np.testing.assert_allclose(up.predict(graphs)[0], -down.predict(graphs)[0])


# -- a script -------------------------------------------------------------------------------------

SCRIPT = """
import sys, time
from dataclasses import dataclass
import numpy as np
from bogrape import GraphSpace, Study
from bogrape.kernels import Kernel, aligned, path_features

@dataclass(frozen=True)
class Gauss(Kernel):
    scale: float = 0.4
    name, labelled = "gauss", False
    def cross(self, left, right):
        a, b = (path_features(c, labelled=False) for c in aligned(left, right))
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / self.scale**2)
    def diagonal(self, counts):
        return np.ones(len(counts))

@dataclass
class Nearest:
    k: int = 2
    def fit(self, graphs, y):
        self.edges, self.y = np.array([g.n_edges for g in graphs]), y
    def predict(self, graphs):
        gaps = abs(np.array([g.n_edges for g in graphs])[:, None] - self.edges)
        near = np.argsort(gaps, axis=1, kind="stable")[:, : self.k]
        return self.y[near].mean(axis=1), 0.1 + np.sort(gaps, axis=1)[:, : self.k].mean(axis=1)

def hopeful(mean, std, best):
    return np.minimum(mean - best, 0.0) - std**1.5

if __name__ == "__main__":
    url, part = sys.argv[1:3]
    own = {"kernel": Gauss(), "surrogate": Nearest(), "acquisition": hopeful}[part]
    space = GraphSpace(4, labels=2)
    limits = {"n_evaluations": 5_000}
    study = Study(space, url, n_initial=3, seed=1, preset="paper", **limits, **{part: own})
    while len(study.trials) < 6:
        trial = study.ask(progress=False)
        if trial.origin == "proposal":  # by brute force: no untried graph is better
            tried = {space.identity(t.graph) for t in study.trials if t.value is not None}
            listed = [g for g in space.enumerate() if space.identity(g) not in tried]
            mean, std = study.predict([trial.graph, *listed])
            known = min(t.value for t in study.trials if t.value is not None)
            values = own(mean, std, known) if part == "acquisition" else mean - std
            assert len(listed) > 40 and values[0] <= values.min() + 1e-5 * np.ptp(values), trial
        study.tell(trial, float((trial.graph.n_edges - 5) ** 2))
        print(trial.id, trial.certificate.get("status"), flush=True)
        if len(sys.argv) > 3 and trial.id == 3:
            time.sleep(60)
"""


@pytest.mark.parametrize("part", ["kernel", "surrogate", "acquisition"])
def test_parts_defined_in_a_script_are_proved_stored_killed_and_reopened(
    part: str, tmp_path: Path
) -> None:
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT)
    url = f"sqlite:///{tmp_path}/study.db"
    command = [sys.executable, str(script), url, part]
    first = subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    lines = [first.stdout.readline() for _ in range(4)]
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert lines[3] == "3 optimal\n"
    began = time.monotonic()
    rest = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    assert time.monotonic() - began < 60  # does not wait for workers that cannot load a script
    assert rest.startswith("4 optimal\n5 optimal\n")
    with pytest.raises(StudyError, match=r"was defined in the script mine\.py, and this is"):
        Study.load(url)
