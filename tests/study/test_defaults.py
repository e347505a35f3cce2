"""Default settings, the preset of the paper, and studies made by earlier versions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bogrape import EI, LCB, GraphGP, GraphSpace, Study, minimize
from bogrape.cli.config import read_study_file
from bogrape.cli.main import main
from bogrape.constraints import NumberOfEdges
from bogrape.errors import SettingsDiffer, StudyError
from bogrape.gp import in_words
from bogrape.graph import Graph
from bogrape.kernels import RBF
from bogrape.storage import open_storage
from bogrape.study import StudySettings
from bogrape.study.settings import PRESETS

SPACE = GraphSpace(5, labels=2)
USUAL = ("rbf", "fit", EI())
PAPER = ("ssp", 1e-6, LCB(1.0))
TOML = "[space]\nn_nodes = 5\nlabels = 2\n[search]\n"
Open = Callable[..., StudySettings]


def chosen(settings: StudySettings) -> tuple[Any, ...]:
    return settings.kernel, settings.noise, settings.acquisition


def n_edges(graph: Graph) -> float:
    return float(graph.n_edges)


def by_study(_: Path, **given: Any) -> StudySettings:
    return Study(SPACE, **given).settings


def by_minimize(_: Path, **given: Any) -> StudySettings:
    return minimize(n_edges, SPACE, 0, 2, progress=False, **given).settings


def by_file(folder: Path, **given: Any) -> StudySettings:
    path = folder / "study.toml"
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    path.write_text(TOML + "".join(lines), encoding="utf-8")
    return read_study_file(path).settings


def by_command(folder: Path, preset: str | None = None, **given: Any) -> StudySettings:
    by_file(folder, **given)
    options = [] if preset is None else ["--preset", preset]
    asked = CliRunner().invoke(main, ["ask", str(folder / "study.toml"), *options, "--json"])
    assert asked.exit_code == 0, asked.output
    return Study.load(f"sqlite:///{folder}/study.db").settings


every_door = pytest.mark.parametrize("settings_of", [by_study, by_minimize, by_file, by_command])


@every_door
def test_the_defaults_are_the_same_everywhere(settings_of: Open, tmp_path: Path) -> None:
    assert chosen(settings_of(tmp_path)) == USUAL


@every_door
def test_the_preset_paper_gives_the_papers_settings(settings_of: Open, tmp_path: Path) -> None:
    assert chosen(settings_of(tmp_path, preset="paper")) == PAPER


@every_door
def test_given_settings_override_the_preset(settings_of: Open, tmp_path: Path) -> None:
    settings = settings_of(tmp_path, preset="paper", kernel="esp", noise="fit")
    assert chosen(settings) == ("esp", "fit", LCB(1.0))


def test_help_shows_the_preset_and_the_defaults() -> None:
    for function in (Study, minimize):
        parameters = inspect.signature(function).parameters
        assert parameters["preset"].default is None
        assert [parameters[name].default for name in ("kernel", "noise", "acquisition")] == [
            "rbf",
            "fit",
            "ei",
        ]


def test_a_study_can_change_to_the_papers_settings_and_override_some() -> None:
    study = Study(SPACE)
    study.change(preset="paper", noise=0.01)
    assert chosen(study.settings) == ("ssp", 0.01, LCB(1.0))


def test_method_mip_implies_the_papers_settings() -> None:
    assert chosen(Study(SPACE, method="mip").settings) == PAPER
    assert chosen(Study(SPACE, method="mip", kernel="sp").settings) == ("sp", *PAPER[1:])


def test_kappa_alone_means_lcb_and_xi_alone_means_ei(tmp_path: Path) -> None:
    assert by_file(tmp_path, kappa=1.96).acquisition == LCB(1.96)
    assert by_file(tmp_path, xi=0.5).acquisition == EI(0.5)
    assert by_file(tmp_path, preset="paper", xi=0.5).acquisition == EI(0.5)


def test_the_file_that_init_writes_names_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    assert CliRunner().invoke(main, ["init", str(path)]).exit_code == 0
    text = path.read_text(encoding="utf-8")
    for name in ("kernel", "noise", "acquisition", "time_limit"):
        default = inspect.signature(StudySettings).parameters[name].default
        (line,) = (line for line in text.splitlines() if line.startswith(f"# {name} ="))
        value = line.partition("=")[2].partition("  ")[0].strip()
        assert json.loads(value) == default


# -- studies made when the defaults were different ---------------------------------------------


def made_before(folder: Path, **others: Any) -> str:
    """A database with a study that has the defaults of earlier versions, except these."""
    url = f"sqlite:///{folder}/study.db"
    earlier = {**PRESETS["paper"], "n_initial": 4, **others}
    recorded = StudySettings(space=SPACE, **earlier).to_dict()
    del recorded["n_evaluations"]  # not a setting then
    with_study = open_storage(url)
    with_study.create("study", recorded)
    return url


def test_settings_that_are_not_given_are_those_of_the_stored_study(
    tmp_path: Path,
) -> None:
    url = made_before(tmp_path)
    study = Study(SPACE, url, n_initial=4)
    assert (*chosen(study.settings), study.settings.time_limit) == (*PAPER, 60.0)
    study = minimize(n_edges, SPACE, 1, 4, storage=url, progress=False)
    assert chosen(study.settings) == PAPER
    assert set(study.trials[-1].hyperparameters) == {"alpha", "beta", "noise"}
    assert study.changes == []


def test_only_earlier_defaults_are_kept_and_only_if_not_given(tmp_path: Path) -> None:
    url = made_before(tmp_path, kernel="rbf", noise=0.5)
    for given, differing in (
        ({}, ["noise"]),
        ({"noise": 0.5, "acquisition": "ei"}, ["acquisition"]),
    ):
        with pytest.raises(SettingsDiffer) as caught:
            Study(SPACE, url, n_initial=4, **given)
        assert list(caught.value.names) == differing
    assert chosen(Study(SPACE, url, n_initial=4, noise=0.5).settings) == ("rbf", 0.5, LCB(1.0))


def test_an_old_study_file_works_and_changes_only_what_it_names(tmp_path: Path) -> None:
    url = made_before(tmp_path)
    by_file(tmp_path, n_initial=4)
    path = tmp_path / "study.toml"
    assert chosen(read_study_file(path).open().settings) == PAPER
    unchanged = CliRunner().invoke(main, ["change", str(path)])
    assert "nothing to change" in unchanged.output
    by_file(tmp_path, n_initial=4, seed=0, noise="fit")
    with pytest.raises(StudyError, match=r"other settings \(noise\)"):
        read_study_file(path).open()
    assert CliRunner().invoke(main, ["change", str(path)]).exit_code == 0
    assert chosen(Study.load(url).settings) == ("ssp", "fit", LCB(1.0))


# -- out of the box in every kind of space -----------------------------------------------------


@pytest.mark.parametrize(
    "space",
    [
        GraphSpace(1, labels=3),
        GraphSpace(3),
        GraphSpace((2, 5), labels=2),
        GraphSpace(5, labels=2, directed=True, connected="weak"),
        GraphSpace(5, labels=2, connected=False),
        GraphSpace(5, labels=2, edge_labels=2),
        GraphSpace(5, labels=2, features=3),
        GraphSpace(6, labels=("C", "N"), rules=[NumberOfEdges(maximum=6)]),
        GraphSpace(40, labels=8),
    ],
    ids=lambda space: f"{space.n_min}-{space.n_max}",
)
def test_the_default_proposes_in_every_kind_of_space(space: GraphSpace) -> None:
    study = Study(space, n_initial=2, time_limit=2.0)
    for value in (1.0, 0.0, 2.0)[: 2 if space == GraphSpace(3) else 3]:  # which has two graphs
        trial = study.ask(progress=False)
        assert space.contains(trial.graph)
        study.tell(trial, value)
    if space.n_max > 3:
        assert study.trials[-1].origin == "proposal"


# -- the model in words -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space", [SPACE, GraphSpace(5, labels=2, edge_labels=2), GraphSpace(4, features=2)]
)
def test_a_fit_can_be_described_from_its_stored_hyperparameters(space: GraphSpace) -> None:
    graphs = space.sample(8, seed=1, distinct=True)
    gp = GraphGP("rbf", "fit", space=space).fit(graphs, [graph.n_edges**1.5 for graph in graphs])
    assert in_words(RBF(), gp.hyperparameters, space.n_labels) == gp.describe()
    assert "features" in gp.describe() or not space.n_features


def test_status_describes_the_model_of_the_last_proposal(tmp_path: Path) -> None:
    by_file(tmp_path, n_initial=3, method="sample")
    path = str(tmp_path / "study.toml")
    assert json.loads(CliRunner().invoke(main, ["ask", path, "--json"]).output)["id"] == 0
    before = CliRunner().invoke(main, ["status", path])
    assert "  model " not in before.output
    study = Study.load(f"sqlite:///{tmp_path}/study.db")
    study.tell(0, 3.0)
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, n_edges(trial.graph))
    last = study.trials[-1]
    assert last.origin == "proposal"
    words = in_words(RBF(), last.hyperparameters, SPACE.n_labels)
    assert "pairs of labels within 2 steps" in words
    assert f"  model {words}\n" in CliRunner().invoke(main, ["status", path]).output
    as_json = CliRunner().invoke(main, ["status", path, "--json"])
    assert json.loads(as_json.output)["model"] == words
