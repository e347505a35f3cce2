"""A wet-lab session: the study asks for a molecule, you measure it, and tell the value in SMILES.

    python examples/molecules/wet_lab.py

Here a formula stands in for the measurement. In a laboratory, give the study a ``storage`` and
split ask and tell over as many days as the measurements take.
"""

from __future__ import annotations

from bogrape import Study
from bogrape.molecules import (
    ForbiddenSubstructure,
    LargestRing,
    MolecularWeight,
    NoAdjacentHeteroatoms,
    SmallestRing,
    from_smiles,
    molecule_space,
    objectives,
    to_smiles,
)


def measure(smiles: str) -> float:
    """Stands in for the laboratory."""
    return objectives.log_p(smiles)


def main(n_rounds: int = 5) -> Study:
    """Tell what is known already, then ask and tell in rounds."""
    space = molecule_space(
        ("C", "N", "O"),
        n_atoms=(4, 7),
        rules=[  # molecules that cannot be made or are unstable
            NoAdjacentHeteroatoms(),
            ForbiddenSubstructure("[!C]-C-[!C]"),
            ForbiddenSubstructure("C=C-[!C]"),
            ForbiddenSubstructure("C=C=*"),
            SmallestRing(5),
            LargestRing(6),
            MolecularWeight(50, 120),
        ],
    )
    study = Study(space, direction="minimize", method="search", time_limit=5, n_initial=4, seed=3)
    known = ["CCCO", "CCOC", "CC(=O)N", "OCCO"]
    study.add_all((from_smiles(smiles, space), measure(smiles)) for smiles in known)
    for _ in range(n_rounds):
        trial = study.ask()
        smiles = to_smiles(trial.graph)
        value = measure(smiles)
        study.tell(trial, value)
        print(f"measured {smiles:20} {value:7.3f}")
    print(f"best     {to_smiles(study.best.graph):20} {study.best.value:7.3f}")
    return study


if __name__ == "__main__":
    main()
