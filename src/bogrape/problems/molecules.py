"""Molecules: the networks trained on QM7 and QM9, over molecules with N = 10..30 heavy atoms.

The paper's case study: minimise the output of the network over molecules that satisfy valences and
the bounds on composition of the data set. Outputs are in min–max units of the training data, so
0 is the smallest value a training molecule has, and smaller values can be reached. The network is
fixed: the seed of the problem changes nothing but the name under which a run is recorded.

Random molecules hardly ever share a value: of 1000 at most 2 do, at any of the sizes. That is a
property of the networks that were picked, not of the architecture (see `bogrape.molecules.train`).
"""

from __future__ import annotations

from functools import partial

from . import Problem, register

SIZES = (10, 15, 20, 25, 30)


def molecule_problem(seed: int, *, data_set: str, n_atoms: int) -> Problem:
    """Minimise the oracle of a data set over molecules of one size."""
    from ..molecules import load_oracle, molecule_space  # late: loads RDKit

    oracle = load_oracle(data_set)
    return Problem(
        name=f"{data_set}-{n_atoms}",
        space=molecule_space(data_set, n_atoms=n_atoms),
        objective=oracle,
        seed=seed,
        many=oracle.outputs,
    )


for _data_set in ("qm7", "qm9"):
    for _n_atoms in SIZES:
        register(f"{_data_set}-{_n_atoms}")(
            partial(molecule_problem, data_set=_data_set, n_atoms=_n_atoms)
        )
