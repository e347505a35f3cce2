"""One settings object: complete, checked once, stored, and the same from every interface."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace, Study, minimize, propose
from bogrape.cli.config import read_study_file
from bogrape.errors import InvalidInputError, SettingsDiffer, StudyError
from bogrape.propose.mip import MipOptions
from bogrape.study import InMemoryStorage, StudySettings
from bogrape.study.settings import FIXED, PRESETS, SETTING_NAMES, Preset, StudyOptions
from own_parts import Neighbours

SPACE = GraphSpace(5, labels=2)
PAPER: dict[str, Any] = {**PRESETS["paper"], "acquisition": "lcb"}
PROPERTIES: dict[str, Any] = {"properties": {"a": "minimize", "b": "maximize"}}
# A value other than the default for each setting, with the settings that it requires.
OTHER: dict[str, dict[str, Any]] = {
    "kernel": {"kernel": "esp"},
    "surrogate": {"surrogate": Neighbours},
    "noise": {"noise": 0.01},
    "feature_kernel": {"feature_kernel": False, "kernel": "sp"},
    "alpha": {"alpha": 2.5},
    "beta": {"beta": 0.25, "kernel": "sp"},
    "restarts": {"restarts": 2},
    "clip": {"clip": None},
    "cap": {"cap": 3.0},
    "most_observations": {"most_observations": 40},
    "acquisition": {"acquisition": EI(0.5)},
    "method": {"method": "search"},
    "solver": {"solver": "gurobi", "method": "mip", **PAPER},
    "options": {"options": {"gap": 0.01, "symmetry": False}, "method": "mip", **PAPER},
    "time_limit": {"time_limit": 7.5},
    "n_evaluations": {"n_evaluations": 2000},
    "n_initial": {"n_initial": 3},
    "seed": {"seed": 11},
    "direction": {"direction": "maximize"},
    "retries": {"retries": 2},
    "properties": PROPERTIES,
    "combine": {"combine": "sum", **PROPERTIES},
    "reference": {"reference": {"a": 3.0, "b": 9.0}, **PROPERTIES},
    "failures": {"failures": "ignore"},
    "replicates": {"replicates": True},
}
SEVERAL = ("properties", "combine", "reference")  # these depend on each other
each = pytest.mark.parametrize("name", OTHER)
# Parameters that belong to one call, or that a study works out by itself, are not settings.
OF_THE_CALL = {
    GraphGP.__init__: {"self", "n_labels", "space"},
    GraphGP.fit: {"self", "graphs", "y", "to_beat", "start"},
    propose: {
        "space",
        "gp",
        "chances",
        "client",
        "exclude",
        "n",
        "pending",
        "starts",
        "stop",
        "watch",
    },
}
# The settings of a study made before the others existed, as databases store them.
FIRST = {
    "kernel": "ssp",
    "noise": 1e-6,
    "acquisition": {"name": "lcb", "kappa": 1.0},
    "method": "sample",
    "time_limit": 60.0,
    "n_initial": 4,
    "seed": 0,
    "direction": "minimize",
    "retries": 0,
}


def observed(study: Study) -> Study:
    several = study.settings.properties is not None
    study.add_all(
        [
            (g, {"a": g.n_edges, "b": g.labels.sum()} if several else float(g.n_edges))
            for g in SPACE.sample(4, seed=1, distinct=True)
        ]
    )
    return study


# -- complete ---------------------------------------------------------------------------------


@pytest.mark.parametrize("function", OF_THE_CALL, ids=lambda f: f.__qualname__)
def test_every_choice_of_a_fit_and_of_a_proposal_is_a_setting(function: Any) -> None:
    parameters = set(inspect.signature(function).parameters)
    assert OF_THE_CALL[function] <= parameters
    assert parameters - OF_THE_CALL[function] <= set(SETTING_NAMES)


def test_keyword_arguments_and_settings_have_the_same_names_and_types() -> None:
    settings = get_type_hints(StudySettings)
    assert settings.pop("space") is GraphSpace
    assert get_type_hints(StudyOptions) == {**settings, "preset": Preset | None}
    assert tuple(OTHER) == SETTING_NAMES  # the tests below cover all settings


@each
def test_every_setting_reaches_the_fit_and_the_proposal(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Seen(Exception):
        pass

    given: dict[str, Any] = {}

    def fitted(self: GraphGP, *args: Any, **kwargs: Any) -> None:
        given.update(kwargs)
        init(self, *args, **kwargs)

    def proposed(space: GraphSpace, model: Any, **kwargs: Any) -> None:  # noqa: ARG001
        given.update(kwargs, model=model)
        raise Seen

    init = GraphGP.__init__
    study = observed(Study(SPACE, **{"n_initial": 2, **OTHER[name]}))
    monkeypatch.setattr(GraphGP, "__init__", fitted)
    monkeypatch.setattr("bogrape.study.planner.propose", proposed)
    with pytest.raises(Seen):
        study.ask()
    if name == "surrogate":
        assert isinstance(given["model"].surrogate, Neighbours)
        return
    if name in SEVERAL:
        assert given["model"].goals == study.settings.goals
        return
    elsewhere = {
        "n_initial",
        "direction",
        "retries",
        "surrogate",
        "failures",
        "replicates",
        *SEVERAL,
    }
    assert set(given) >= set(SETTING_NAMES) - elsewhere
    if name == "time_limit":
        assert 7.0 < given[name] <= 7.5
    elif name == "seed":
        assert given[name] == study._asking.chance(4, 0)[0]  # each proposal has its own seed
    elif name in given:
        assert given[name] == OTHER[name][name]


def test_amplitudes_that_are_given_are_not_fitted() -> None:
    study = observed(
        Study(SPACE, n_initial=2, method="sample", preset="paper", alpha=2.5, beta=0.25)
    )
    assert study.ask().hyperparameters == {"alpha": 2.5, "beta": 0.25, "noise": 1e-6}
    study.change(alpha=None, beta=None, feature_kernel=False)
    found = study.ask().hyperparameters
    assert found["alpha"] != 2.5
    assert found["beta"] == 0.0


def test_a_study_solves_the_program_with_its_options(tmp_path: Path) -> None:
    path = tmp_path / "program.lp"
    study = observed(
        Study(GraphSpace(4, labels=2), n_initial=2, method="mip", options={"write": str(path)})
    )
    assert study.ask().certificate["method"].endswith("scip")
    assert path.exists()


# -- the same from every interface ------------------------------------------------------------


@each
def test_minimize_passes_every_setting_on(name: str) -> None:
    chosen = {"n_initial": 2, "method": "sample", **OTHER[name]}
    space = SPACE if chosen["method"] == "sample" else GraphSpace(3)
    several = name in SEVERAL
    settings = minimize(
        lambda graph: {"a": 1.0, "b": 2.0} if several else float(graph.n_edges),
        space,
        0,
        progress=False,
        **chosen,
    ).settings
    assert settings == StudySettings(space=space, **chosen)


@each
def test_every_setting_is_stored_compared_and_changed(name: str, tmp_path: Path) -> None:
    url, other = f"sqlite:///{tmp_path}/study.db", OTHER[name]
    plain = Study(SPACE, url)
    Study(SPACE, url, "other", **other)
    assert Study.load(url, "other").settings == StudySettings(space=SPACE, **other)
    with pytest.raises(SettingsDiffer) as differ:
        Study(SPACE, url, **other)
    assert set(differ.value.names) >= set(other)
    if name in SEVERAL:
        with pytest.raises(StudyError, match="properties"):
            plain.change(**other)
        return
    assert set(differ.value.names) == set(other)
    if name in FIXED:
        with pytest.raises(StudyError, match=f"{name} cannot be changed"):
            plain.change(**other)
        return
    plain.change(**other)
    assert Study.load(url).settings == Study.load(url, "other").settings
    assert set(plain.changes[0]["changed"]) == set(other)


def study_file(folder: Path, *lines: str) -> Path:
    path = folder / "study.toml"
    top = [line for line in lines if line.startswith(("direction", "properties"))]
    search = [line for line in lines if line not in top]
    text = "\n".join([*top, "[space]", "n_nodes = 5", "labels = 2", "[search]", *search])
    path.write_text(text, encoding="utf-8")
    return path


def as_toml(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(v)}" for key, v in value.items()) + "}"
    return json.dumps(value)


@each
def test_a_study_file_can_have_every_setting(name: str, tmp_path: Path) -> None:
    other = OTHER[name]
    in_words = {
        "acquisition": {"acquisition": "ei", "xi": 0.5},
        "surrogate": {"surrogate": "own_parts:Neighbours"},
    }
    plain = in_words.get(name, other)
    lines = [f"{key} = {as_toml(value)}" for key, value in plain.items()]
    expected = StudySettings(space=SPACE, **other)
    assert read_study_file(study_file(tmp_path, *lines)).settings == expected
    if name not in ("direction", *SEVERAL):  # which are not in the table [search]
        given = [line.replace(" = ", "=", 1) for line in lines]
        assert read_study_file(study_file(tmp_path), given).settings == expected


def test_the_command_line_overrides_the_study_file(tmp_path: Path) -> None:
    path = study_file(tmp_path, "noise = 0.5", "seed = 4")
    settings = read_study_file(path, ["noise=fit", "clip=none", "kernel = esp"]).settings
    assert (settings.noise, settings.clip, settings.kernel) == ("fit", None, "esp")
    assert settings.seed == 4
    for wrong in ("noise", "=3", "noise=", "a b=3"):
        with pytest.raises(InvalidInputError, match="--set must be NAME=VALUE"):
            read_study_file(path, [wrong])
    with pytest.raises(InvalidInputError, match="did you mean 'noise'"):
        read_study_file(path, ["nois=1"])


# -- refused once -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ({"kernal": "sp"}, "kernel"),
        ({"n_iteration": 3}, "n_iterations"),
        ({"evaluation_timelimit": 3}, "evaluation_time_limit"),
        ({"restart": 3}, "restarts"),
    ],
)
def test_minimize_names_the_nearest_argument(wrong: dict[str, Any], near: str) -> None:
    with pytest.raises(InvalidInputError, match=f"unknown setting .*did you mean '{near}'"):
        minimize(repr, SPACE, **wrong)


@pytest.mark.parametrize(("wrong", "near"), [({"storag": None}, "storage"), ({"Beta": 1}, "beta")])
def test_a_study_names_the_nearest_argument(wrong: dict[str, Any], near: str) -> None:
    with pytest.raises(InvalidInputError, match=f"unknown setting .*did you mean '{near}'"):
        Study(SPACE, **wrong)
    with pytest.raises(
        InvalidInputError, match="unknown setting 'colour'; known are space, storage"
    ):
        Study(SPACE, colour=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"alpha": -1.0}, "expected alpha to be a finite number > 0, got -1.0"),
        ({"restarts": 0}, "expected restarts to be an integer >= 1, got 0"),
        ({"most_observations": 2}, "expected most_observations to be an integer >= 4"),
        ({"feature_kernel": "no"}, "feature_kernel must be True or False, got 'no'"),
        ({"kernel": "sp", "feature_kernel": False, "beta": 1.0}, "leave one of them out"),
        ({"beta": 1.0}, "beta is the amplitude of the feature kernel, got 1.0 with .* 'rbf'"),
        ({"n_evaluations": 0}, "expected n_evaluations to be an integer >= 1, got 0"),
        ({"preset": "papr"}, "unknown preset 'papr'; choose one of paper, or None"),
        ({"preset": ["paper"]}, "unknown preset"),
        ({"solver": "scip"}, "solver applies to method 'mip' only, got 'scip' with method 'auto'"),
        ({"options": {}, "method": "exact"}, "options applies to method 'mip' only"),
        ({"options": {"gap": 1, "gab": 2}, "method": "mip"}, "unknown option 'gab'"),
        ({"options": {"memory": float("inf")}, "method": "mip"}, "memory to be megabytes > 0"),
        ({"options": {"write": 3}, "method": "mip"}, "write to be a path or None, got 3"),
        ({"options": 3, "method": "mip"}, "options to be a mapping"),
        ({"solver": "cplex", "method": "mip"}, "unknown solver 'cplex'.*scip, gurobi"),
    ],
)
def test_invalid_settings_are_refused_before_anything_is_asked(
    wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Study(SPACE, **wrong)
    study = Study(SPACE)
    with pytest.raises(InvalidInputError, match=words):
        study.change(**wrong)
    assert study.settings == StudySettings(space=SPACE)


def test_propose_refuses_options_that_the_method_would_ignore() -> None:
    graphs = SPACE.sample(3, distinct=True)
    gp = GraphGP().fit(graphs, [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="solver applies to method 'mip' only"):
        propose(SPACE, gp, method="search", solver="scip")


# -- stored by earlier and later versions -----------------------------------------------------


def first_study() -> Study:
    storage = InMemoryStorage()
    storage.create("study", {**FIRST, "space": json.loads(SPACE.to_json())})
    return Study.load(storage)


def test_a_study_of_an_earlier_version_keeps_its_settings() -> None:
    settings = first_study().settings
    model = settings.new_model()
    assert (model.restarts, model.clip, model.most_observations) == (5, 1e3, 1000)
    assert (settings.alpha, settings.beta, model.feature_kernel) == (None, None, True)
    assert (settings.solver, settings.options) == (None, None)
    assert {name: settings.to_dict()[name] for name in FIRST} == FIRST


def test_a_study_of_an_earlier_version_is_read_once_and_can_be_changed() -> None:
    study = first_study()
    planner, before = study._asking.planner, study.settings
    study.ask()
    assert study._asking.planner is planner
    assert study.settings is before
    study.change(alpha=2.0)
    assert study.changes[0]["changed"] == {"alpha": [None, 2.0]}
    assert Study.load(study.storage).settings == study.settings
    again = Study.load(study.storage)
    again.change(retries=1)
    study.ask()
    assert study.settings.retries == 1


def test_settings_of_a_later_version_are_named() -> None:
    data = {**StudySettings(space=SPACE).to_dict(), "colour": 3}
    with pytest.raises(StudyError, match=r"does not know \(colour\); it was made by a newer one"):
        StudySettings.from_dict(data)


def test_options_may_be_an_object_and_a_path() -> None:
    given = StudySettings(space=SPACE, method="mip", options=MipOptions(gap=0.5))  # type: ignore[arg-type]
    assert given.options == dataclasses.asdict(MipOptions(gap=0.5))
    path = StudySettings(space=SPACE, method="mip", options={"write": Path("a.lp")})
    assert path.options == {"write": "a.lp"}


positive = st.floats(1e-6, 1e6)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "kernel": st.sampled_from(["ssp", "sp", "essp", "esp"]),
            "noise": positive | st.just("fit"),
            "alpha": positive | st.none(),
            "beta": positive | st.none(),
            "restarts": st.integers(1, 9),
            "clip": positive | st.none(),
            "cap": positive | st.none(),
            "most_observations": st.integers(4, 9999) | st.none(),
            "acquisition": st.builds(LCB, positive) | st.builds(EI, positive) | st.just("ei"),
            "method": st.sampled_from(["auto", "search"]),
            "time_limit": positive | st.just(float("inf")),
            "n_evaluations": st.integers(1, 10**9) | st.none(),
            "n_initial": st.integers(2, 99),
            "seed": st.integers(0, 2**40),
            "direction": st.sampled_from(["minimize", "maximize"]),
            "retries": st.integers(0, 9),
        },
    )
)
def test_settings_survive_json(chosen: dict[str, Any]) -> None:
    if chosen.get("beta") is not None:
        chosen = {"kernel": "ssp", **chosen}  # rbf has no such amplitude
    settings = StudySettings(space=SPACE, **chosen)
    text = json.dumps(settings.to_dict(), allow_nan=False)
    assert StudySettings.from_dict(json.loads(text)) == settings
    assert settings.differences(StudySettings.from_dict(json.loads(text))) == []


def test_a_cap_is_refused_with_several_properties() -> None:
    with pytest.raises(InvalidInputError, match="cap is for studies of one value"):
        StudySettings(space=SPACE, cap=3.0, **PROPERTIES)
