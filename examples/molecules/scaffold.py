"""Decorate a fixed ring at open positions, for drug-likeness.

    python examples/molecules/scaffold.py

The best four molecules are drawn. ``scaffold.toml`` is the same study for the command line.
"""

from __future__ import annotations

from pathlib import Path

from bogrape import Study, minimize
from bogrape.molecules import (
    ForbiddenSubstructure,
    NoAdjacentHeteroatoms,
    SmallestRing,
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
        rules=[
            scaffold("C1CC(*)CN1*", keep_rings=True),
            NoAdjacentHeteroatoms(),
            ForbiddenSubstructure("[!C]-C-[!C]"),
            SmallestRing(5),
        ],
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
    best = sorted((t for t in study.trials if t.value is not None), key=lambda t: -t.value)[:4]
    for trial in best:
        print(f"{trial.value:.4f}  {to_smiles(trial.graph)}")
    draw(
        [trial.graph for trial in best],
        Path(picture),
        values=[trial.value for trial in best],
    )
    return study


if __name__ == "__main__":
    main()
