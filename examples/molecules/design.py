"""Design a 10-atom molecule against the QM7 oracle, and draw the best ones.

    python examples/molecules/design.py

The oracle is a network trained on atomisation energies, in min-max units: lower is more stable.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bogrape import Study, minimize
from bogrape.molecules import draw, load_oracle, molecule_space, to_smiles


def main(n_iterations: int = 20, n_initial: int = 10, picture: str = "design.png") -> Study:
    """Run the optimisation and write a picture of the six best molecules."""
    space = molecule_space("qm7", n_atoms=10)
    study = minimize(
        load_oracle("qm7"),
        space,
        n_iterations=n_iterations,
        n_initial=n_initial,
        method="search",
        time_limit=5,
        seed=1,
    )
    best = sorted((t for t in study.trials if t.value is not None), key=lambda t: t.value)[:6]
    for trial in best:
        print(f"{trial.value:8.4f}  {to_smiles(trial.graph)}")
    draw(
        [trial.graph for trial in best],
        Path(picture),
        values=[trial.value for trial in best],
        columns=3,
    )
    return study


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
