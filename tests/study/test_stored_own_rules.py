"""Studies with user-defined rules: stored, killed, reopened; missing rules are named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bogrape import GraphSpace, Study
from bogrape.constraints import Rule, register_rule, registry, rule_from_dict
from bogrape.errors import BoGrapeError, InvalidInputError, InvalidSpaceError, UnsupportedError
from bogrape.graph import Graph

# A script with its own rule and without a main guard; run again, it continues its study.
SCRIPT = '''
import json, os, signal, sys
from dataclasses import dataclass

import networkx as nx
import numpy as np
from bogrape import GraphSpace, Study
from bogrape.constraints import Rule

@dataclass(frozen=True)
class Bipartite(Rule):
    """No cycle of odd length, and one of these numbers of edges: networkx says."""
    allowed: tuple = (4,)

    def holds(self, graph):
        return nx.is_bipartite(graph.to_networkx()) and graph.n_edges in self.allowed

rule = Bipartite((4, 5, 6))
space = GraphSpace(5, rules=[rule])
study = Study(space, sys.argv[1], n_initial=2, time_limit=60.0, n_evaluations=20_000)
value = lambda graph: float(graph.n_edges) + 0.1 * float(np.sum(graph.adjacency, axis=0).max())
for _ in range(int(sys.argv[2])):
    trial = study.ask()
    assert rule.holds(trial.graph)
    study.tell(trial, value(trial.graph))
again = Study.load(sys.argv[1])
print(json.dumps({
    "trials": len(study.trials),
    "loaded": len(again.trials),
    "same rules": again.settings.space.rules == space.rules,
    "statuses": [t.certificate["status"] for t in study.trials if t.origin == "proposal"],
}), flush=True)
if sys.argv[3:] == ["killed"]:
    study.ask()
    os.kill(os.getpid(), signal.SIGKILL)
'''


def _run(script: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=250,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="kills itself by a signal")
def test_a_killed_script_with_its_own_rule_continues(tmp_path: Path) -> None:
    script, storage = tmp_path / "bipartite.py", f"sqlite:///{tmp_path / 'study.db'}"
    script.write_text(SCRIPT)
    first = _run(script, storage, "3", "killed")
    assert first.returncode == -signal.SIGKILL, first.stderr
    before = json.loads(first.stdout)
    assert before["trials"] == before["loaded"] == 3
    second = _run(script, storage, "1")
    assert second.returncode == 0, second.stderr
    after = json.loads(second.stdout)
    assert after["trials"] == after["loaded"] == 5  # one was under evaluation
    assert after["same rules"]
    assert after["statuses"] == ["optimal"] * len(after["statuses"])
    assert after["statuses"]
    stored = _stored_rule(storage)
    assert stored["rule"] == "__main__:Bipartite"
    assert stored[registry.PLACE] == "the script bipartite.py"
    assert stored["allowed"] == [4, 5, 6]

    with pytest.raises(InvalidSpaceError) as caught:
        Study.load(storage)
    assert str(caught.value).count("\n") == 0
    assert "Bipartite was defined in the script bipartite.py" in str(caught.value)
    assert "bogrape.constraints.register_rule(Bipartite)" in str(caught.value)

    command = [sys.executable, "-m", "bogrape", "report", str(tmp_path / "study.db")]
    told = subprocess.run(
        [*command, "-o", str(tmp_path / "report.html")], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2, told.stderr
    assert told.stderr.startswith("Error: the rule Bipartite was defined in the script bipartite")
    assert "Traceback" not in told.stderr


PROVED = """
import json, sys
import networkx as nx
from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.constraints import Edge, Row, Rule

class Planar(Rule):
    def holds(self, graph):
        return nx.is_planar(graph.to_networkx()) and graph.n_edges % 2 == 0

class Sparse(Rule):
    most = 7
    def holds(self, graph):
        return graph.n_edges <= self.most
    def rows(self, shape):
        yield Row("few edges", tuple((Edge(u, v), 1) for u, v in shape.pairs()), high=self.most)

space = GraphSpace(5, rules=[Planar(), Sparse()])
inside = [g for g in GraphSpace(5).enumerate() if Planar().holds(g) and Sparse().holds(g)]
graphs = GraphSpace(5).sample(8, seed=1)
out = []
for kernel in sys.argv[1:]:
    gp = GraphGP(kernel).fit(graphs, [float(g.adjacency.sum(0).max() - g.n_edges) for g in graphs])
    acquisition = LCB(1.0) if kernel in ("ssp", "esp") else EI()
    proposal = propose(space, gp, acquisition, time_limit=60.0, n_evaluations=20_000)
    mean, std = gp.predict(inside)
    best = float(acquisition(mean, std, gp.posterior.model.best).min())
    out.append([proposal.status, abs(proposal.value - best) < 1e-6 * max(1, abs(best))])
print(json.dumps(out))
"""


@pytest.mark.parametrize(
    ("how", "kernels"),
    [
        ("script", ["ssp", "essp"]),
        ("-c", ["ssp"]),  # like a notebook: no file
        pytest.param("-c", ["sp", "esp"], marks=pytest.mark.deep),
    ],
)
def test_the_default_method_is_exact_under_rules_of_a_script(
    tmp_path: Path, how: str, kernels: list[str]
) -> None:
    (tmp_path / "planar.py").write_text(PROVED)
    script = [str(tmp_path / "planar.py")] if how == "script" else ["-c", PROVED]
    done = subprocess.run(
        [sys.executable, *script, *kernels],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [["optimal", True]] * len(kernels)


def _stored_rule(storage: str) -> dict[str, Any]:
    from bogrape.storage import open_storage

    (rule,) = open_storage(storage, create=False).settings("study")["space"]["rules"]  # type: ignore[index]
    return dict(rule)


MODULE = """
from dataclasses import dataclass
from bogrape.constraints import Rule

@dataclass(frozen=True)
class OddEdges(Rule):
    least: int = 1

    def holds(self, graph):
        return graph.n_edges % 2 == 1 and graph.n_edges >= self.least
"""


@pytest.fixture
def _own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "odd_rules.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "_stored_as", {})
    yield
    sys.modules.pop("odd_rules", None)


@pytest.mark.usefixtures("_own_module")
def test_a_rule_of_a_module_is_stored_by_import_path_and_found_again(tmp_path: Path) -> None:
    import odd_rules  # type: ignore[import-not-found]

    storage = f"sqlite:///{tmp_path / 'study.db'}"
    rule = odd_rules.OddEdges()
    Study(GraphSpace(4, rules=[rule]), storage)
    assert _stored_rule(storage) == {"rule": "odd_rules:OddEdges", "least": 1}
    assert Study.load(storage).settings.space.rules == (rule,)
    assert Study(GraphSpace(4, rules=[rule]), storage).settings.space.rules == (rule,)


@pytest.mark.usefixtures("_own_module")
def test_a_missing_module_is_named_in_one_line_with_the_remedies() -> None:
    with pytest.raises(InvalidSpaceError) as caught:
        rule_from_dict({"rule": "even_rules:EvenEdges"})
    text = str(caught.value)
    assert "no module 'even_rules'" in text
    assert "PYTHONPATH" in text
    assert "register_rule(EvenEdges)" in text
    assert "\n" not in text


@pytest.mark.usefixtures("_own_module")
@pytest.mark.parametrize("path", ["__main__:OddEdges", "moved_away:OddEdges", "m:f.<locals>.Odd"])
def test_a_registered_rule_stands_in_for_one_that_cannot_be_found(path: str) -> None:
    import odd_rules

    stored = {"rule": path, registry.PLACE: "the script long_gone.py", "least": 3}
    if "<locals>" in path:
        odd_rules.OddEdges.__qualname__ = "f.<locals>.Odd"
    with pytest.raises(InvalidSpaceError, match="register"):
        rule_from_dict(stored)
    assert register_rule(odd_rules.OddEdges) is odd_rules.OddEdges
    rule = rule_from_dict(stored)
    assert rule == odd_rules.OddEdges(3)
    assert rule.to_dict() == stored  # so that a study that compares settings finds them unchanged


@pytest.mark.usefixtures("_own_module")
def test_a_class_of_the_same_name_in_another_script_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import odd_rules

    monkeypatch.setattr(sys.modules["__main__"], "OddEdges", odd_rules.OddEdges, raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "here.py", raising=False)
    data = {"rule": "__main__:OddEdges", registry.PLACE: "the script there.py", "least": 1}
    with pytest.raises(InvalidSpaceError, match=r"defined in the script there\.py, and the script"):
        rule_from_dict(data)
    data[registry.PLACE] = "the script here.py"
    assert rule_from_dict(data) == odd_rules.OddEdges(1)


@pytest.mark.usefixtures("_own_module")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rule": "math:tau"}, "to be a rule, got float"),
        ({"rule": "collections:OrderedDict"}, "to be a rule"),
        ({"rule": "odd_rules:Missing"}, "has no 'Missing'"),
        ({"rule": "odd_rules:OddEdges", "most": 3}, "valid parameters"),
        ({"rule": ":"}, "register"),
        ({"rule": "__main__:"}, "register"),
    ],
)
def test_data_that_is_not_a_rule_is_refused_with_the_reason(
    data: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidSpaceError, match=message):
        rule_from_dict(data)


@pytest.mark.usefixtures("_own_module")
def test_a_study_file_names_rules_of_modules_in_its_folder(tmp_path: Path) -> None:
    """Runs in another process, since the folder of the study file is not on the path here."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "beside.py").write_text(MODULE)
    (folder / "study.toml").write_text(
        '[space]\nn_nodes = 4\n[[space.rules]]\nrule = "beside:OddEdges"\nleast = 3\n'
        "[search]\nn_initial = 2\n"
    )
    asked = subprocess.run(
        [sys.executable, "-P", "-m", "bogrape", "ask", str(folder / "study.toml"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr


@dataclass(frozen=True)
class Weighted(Rule):
    """A rule with a parameter that JSON cannot represent."""

    weight: complex = 1j

    def holds(self, graph: Graph) -> bool:
        return graph.n_edges < 100


def test_a_parameter_that_cannot_be_stored_is_refused_when_a_study_is_stored(
    tmp_path: Path,
) -> None:
    space = GraphSpace(4, rules=[Weighted()])
    with pytest.raises(UnsupportedError, match="parameters that can be stored"):
        Study(space, f"sqlite:///{tmp_path / 'study.db'}")
    assert Study(space).ask().graph.n_nodes == 4  # in memory nothing is stored


def test_only_classes_can_be_registered() -> None:
    with pytest.raises(InvalidInputError, match=r"register_rule\(type\(rule\)\)"):
        register_rule(Weighted())  # type: ignore[type-var]
    assert issubclass(InvalidInputError, BoGrapeError)
