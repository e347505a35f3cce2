"""Decorate a fixed ring at open positions, for drug-likeness.

python examples/molecules/scaffold.py
"""

from __future__ import annotations

from pathlib import Path

from bogrape import Study, minimize
from bogrape.molecules import (
    NoAdjacentHeteroatoms,
    draw,
    molecule_space,
    objectives,
    scaffold,
    to_smiles,
)


def main(n_iterations: int = 8, picture: str = "scaffold.png") -> Study:
    """Pyrrolidine, open at the nitrogen atom and at one carbon atom."""
    space = molecule_space(
        "qm7",
        n_atoms=9,
        rules=[scaffold("C1CC(*)CN1*"), NoAdjacentHeteroatoms()],
    )
    study = minimize(
        objectives.qed,
        space,
        direction="maximize",
        n_iterations=n_iterations,
        n_initial=6,
        method="search",
        time_limit=5,
        seed=0,
    )
    print(f"{study.best.value:.4f}  {to_smiles(study.best.graph, space)}")
    draw(study.best.graph, Path(picture), elements=space, values=study.best.value)
    return study


if __name__ == "__main__":
    main()
