"""Trials and lists of trials in notebooks, and completion in editors."""

from __future__ import annotations

import inspect
import pickle
import re
import typing
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from bogrape import GraphGP, GraphSpace, Study, Trial, minimize, propose
from bogrape.kernels import KERNELS, Kernel, KernelName
from bogrape.propose import Method
from bogrape.propose.portfolio import METHODS
from bogrape.report import report_html
from bogrape.study import StudySettings, TrialList
from bogrape.study.settings import Direction

from report_cases import HOSTILE, SPACE, STUDIES, study_of

CERTIFICATE = {"value": -1.25, "mean": 0.5, "std": 0.125, "status": "heuristic"}


def html_of(thing: Any) -> str:
    """HTML shown in a notebook; an error unless it is well-formed."""
    html = thing._repr_html_()
    assert html is not None
    ET.fromstring(html)
    return str(html)


def proposed(study: Study) -> Trial:
    """A pending trial with a prediction."""
    trial = study._ledger.draft(study.space.sample(1, seed=99)[0], "proposal")
    return study._ledger.append([replace(trial, state="pending", certificate=CERTIFICATE)])[0]


def test_the_best_trial_is_a_picture_with_its_value() -> None:
    study = STUDIES["thirty trials"]()
    html = html_of(study.best)
    assert "<svg" in html
    assert f"value {study.best.value:.6g}".replace("-", "−") in html
    assert "C</span>" in html  # labels by their names: the trial knows its space


def test_a_proposed_trial_shows_its_prediction_beside_the_acquisition_value() -> None:
    study = study_of(SPACE, 3)
    whole = html_of(proposed(study))
    card = html_of(TrialList([study.trials[-1]]))
    assert "predicted 0.50 ± 0.12" in card
    assert "acquisition −1.25" in card
    table = re.sub(r"<[^>]*>", " ", whole)  # each name appears once, in its row
    assert re.search(r"predicted\s+0\.50 ± 0\.12", table)
    assert re.search(r"acquisition\s+−1\.25", table)
    assert table.count("predicted") == 1


def test_a_batch_is_shown_as_pictures() -> None:
    study = Study(SPACE, n_initial=4)
    batch = study.ask(3)
    assert isinstance(batch, TrialList)
    assert isinstance(batch, list)
    assert html_of(batch).count("<svg") == 3
    assert html_of(TrialList(study.ask(70))).count("<svg") == 60
    assert "no trials" in html_of(TrialList())


def test_a_trial_without_a_study_is_shown_as_a_plain_graph() -> None:
    trial = Trial(id=7, graph=SPACE.sample(1, seed=1)[0], state="queued", origin="queued")
    assert "<svg" in html_of(trial)
    assert "label" in html_of(trial)


def test_hostile_texts_are_escaped_in_notebooks() -> None:
    study = STUDIES["hostile labels"]()
    html = html_of(TrialList(study.trials))
    assert HOSTILE not in html
    assert "<img" not in html


def test_the_space_of_a_trial_is_neither_compared_nor_shown_as_text() -> None:
    study = Study(SPACE, n_initial=3)
    trial = study.ask()
    assert trial.space == SPACE
    assert trial == replace(trial, space=None)
    assert "GraphSpace" not in repr(trial)
    assert pickle.loads(pickle.dumps(trial)) == trial
    told = study.tell(trial, 1.0)
    assert told.space == study.best.space == study.trials[0].space == SPACE


def test_molecules_of_a_study_are_drawn_as_molecules_with_their_smiles() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    study = study_of(molecules.molecule_space("qm9", n_atoms=5), 6)
    trial = proposed(study)
    smiles = molecules.to_smiles(trial.graph, study.space.label_names)
    for html in (html_of(trial), html_of(TrialList([trial]))):
        assert "molecule with 5 atoms" in html
        assert smiles in html
    page = report_html(study)
    table = next(e for e in ET.fromstring(page).iter() if e.get("id") == "trials-table")
    heads = ["".join(cell.itertext()) for cell in table.findall("thead/tr/th")]
    assert {"SMILES", "Predicted", "Acquisition"} <= set(heads)
    last = ["".join(cell.itertext()) for cell in table.findall("tbody/tr")[-1]]
    assert last[heads.index("SMILES")] == smiles
    assert last[heads.index("Predicted")].startswith("0.50 ± 0.12")
    assert last[heads.index("Acquisition")] == "−1.25"


def test_columns_that_would_be_empty_are_left_out_of_the_table() -> None:
    page = report_html(study_of(SPACE, 5))
    assert "SMILES" not in page
    assert "Predicted</button>" not in page


@pytest.mark.parametrize("called", [GraphGP.__init__, Study.__init__, StudySettings, minimize])
def test_editors_can_complete_kernels_methods_and_directions(called: Any) -> None:
    shown = inspect.signature(called, eval_str=True).parameters
    assert shown["kernel"].annotation == KernelName | Kernel
    for name, kind in (("method", Method), ("direction", Direction)):
        if called is not GraphGP.__init__:
            assert shown[name].annotation == kind


@pytest.mark.parametrize("called", [Study, minimize])
def test_notebooks_show_every_setting_with_its_default(called: Any) -> None:
    shown, settings = inspect.signature(called), inspect.signature(StudySettings)
    for name, parameter in settings.parameters.items():
        assert shown.parameters[name].default == parameter.default


def test_the_types_list_all_kernels_and_methods() -> None:
    assert typing.get_args(KernelName) == (*KERNELS, "rbf")
    assert typing.get_args(Method) == tuple(METHODS)
    assert typing.get_type_hints(propose)["method"] == Method
    with pytest.raises(ValueError, match="unknown kernel"):
        GraphGP("wl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown method"):
        Study(GraphSpace(4), method="magic")  # type: ignore[arg-type]
