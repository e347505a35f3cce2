"""A medicinal chemist's first two days: measurements in, suggestions out, a failure, a typo."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import Crippen

from bogrape import GraphSpace, Study, Trial
from bogrape.molecules import from_smiles, molecule_space, scaffold, to_smiles
from places import DATA

# Molecules of QM9: 15 with a furan ring, 25 without.
MOLECULES = (DATA / "qm9_furans_and_others.smi").read_text().split()
LIMIT = 4.0  # seconds for a batch of eight
GRACE = 6.0  # for a busy machine


def measured(smiles: str) -> float:
    """The laboratory: a property of the molecule, here Crippen's logP."""
    return float(Crippen.MolLogP(Chem.MolFromSmiles(smiles)))


@pytest.fixture
def space() -> GraphSpace:
    return molecule_space(
        "qm9", n_atoms=(7, 9), bounds=False, rules=[scaffold("c1ccoc1", keep_rings=True)]
    )


def assert_eight_suggestions(study: Study, known: set[str]) -> list[Trial]:
    """Eight suggestions: in time, in the space (by RDKit), new (by SMILES), with predictions."""
    start = time.monotonic()
    batch = study.ask(8, time_limit=LIMIT, progress=False)
    assert time.monotonic() - start < LIMIT + GRACE
    assert isinstance(batch, list)
    names = [to_smiles(trial.graph, study.space) for trial in batch]
    assert len(set(names)) == 8
    assert not known & set(names)
    known |= set(names)
    furan = Chem.MolFromSmiles("c1ccoc1")
    for name, trial in zip(names, batch, strict=True):
        molecule = Chem.MolFromSmiles(name)
        assert molecule.HasSubstructMatch(furan)
        assert 7 <= molecule.GetNumAtoms() <= 9
        assert trial.predicted is not None
        assert trial.predicted[1] > 0
    mean, std = study.predict([trial.graph for trial in batch])
    assert np.allclose([t.predicted for t in batch], np.column_stack([mean, std]))
    return batch


def test_two_days_of_a_chemist(space: GraphSpace, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/furans.db"
    study = Study(space, url, direction="maximize", noise="fit", time_limit=LIMIT)
    added = study.add_all([(from_smiles(name, space), measured(name)) for name in MOLECULES])
    assert len(added) == 40
    assert sum(bool(trial.outside) for trial in added) == 25
    known = {Chem.CanonSmiles(name) for name in MOLECULES}

    # the first day: one synthesis fails, one value is mistyped
    batch = assert_eight_suggestions(study, known)
    study.fail(batch[3], "the synthesis failed")
    right = [measured(to_smiles(trial.graph, space)) for trial in batch]
    for i, trial in enumerate(batch):
        if i != 3:
            study.tell(trial, 100.0 * right[i] if i == 5 else right[i])
    study.correct(batch[5], right[5], reason="typed without the decimal point")

    # the next day: all observations are used, the typo and the failure leave no trace
    again = Study.load(url)
    graphs, values = again.dataset
    assert len(graphs) == 47
    assert max(values) < 10
    assert again.trials[batch[5].id].history[0]["value"] == pytest.approx(100.0 * right[5])
    assert again.best.value == max(t.value for t in again.trials if t.value and not t.outside)
    assert_eight_suggestions(again, known)
    assert len(known) == 56
