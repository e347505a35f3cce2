"""Molecules that chemists ask for: properties by GFN2-xTB, and the tasks of GuacaMol and PMO.

``xtb-gap-10`` asks for the smallest HOMO–LUMO gap (eV) of the molecules of QM9's kind with 10 heavy
atoms, ``xtb-dipole-10`` for the largest dipole moment (debye) and ``xtb-polarisability-10`` for the
largest polarisability (cubic bohr); what is to be large is minimised with a minus. Some molecules
have no value: RDKit finds no geometry, or the calculation does not converge. Then the evaluation
fails. Needs tblite, extra ``[xtb]``; see `bogrape.molecules.xtb`.

``pmo-median1`` and so on are minus the scores of `bogrape.molecules.guacamol`, over molecules of
the elements and sizes that the task needs. Three tasks of PMO are left out (`LEFT_OUT`): DRD2,
GSK3β and JNK3 need trained predictors.

The seed changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..graph import Graph
from . import Problem, register

XTB_SIZES = (8, 10, 12)
LEFT_OUT = ("drd2", "gsk3b", "jnk3")
XTB_SOURCE = "GFN2-xTB by tblite at RDKit's ETKDGv3 and MMFF94 geometry"
PMO_SOURCE = "definitions of Brown et al. 2019 (GuacaMol) and Gao et al. 2022 (PMO)"
# names are here, and not read from the tasks, so that RDKit is not loaded to list problems
PMO_NAMES = (
    *("albuterol_similarity", "amlodipine_mpo", "aripiprazole_similarity"),
    *("celecoxib_rediscovery", "deco_hop", "fexofenadine_mpo", "isomers_c11h24"),
    *("isomers_c7h8n2o2", "isomers_c9h10n2o2pf2cl", "median1", "median2"),
    *("mestranol_similarity", "osimertinib_mpo", "penalized_logp", "perindopril_mpo", "qed"),
    *("ranolazine_mpo", "scaffold_hop", "sitagliptin_mpo", "thiothixene_rediscovery"),
    *("troglitazone_rediscovery", "valsartan_smarts", "zaleplon_mpo"),
)
# tasks whose score reaches 1 for some molecule, which is the target or an isomer
_REACHABLE = ("rediscovery", "albuterol", "aripiprazole", "mestranol", "isomers")


@dataclass(frozen=True)
class XtbProperty:
    """The objective: a property, with a minus where it is to be large."""

    what: str

    def __call__(self, graph: Graph) -> float:
        from ..molecules.xtb import xtb_property

        value = xtb_property(graph, self.what)  # type: ignore[arg-type]
        return value if self.what == "gap" else -value


@dataclass(frozen=True)
class MinusScore:
    """The objective: minus the score of a task."""

    task: str

    def __call__(self, graph: Graph) -> float:
        from ..molecules.guacamol import TASKS

        return -TASKS[self.task].score(graph)


def xtb_problem(seed: int, *, what: str, n_atoms: int) -> Problem:
    """Optimise a property over molecules of one size."""
    from ..molecules import molecule_space  # late: loads RDKit
    from ..molecules.xtb import check_installed

    check_installed()
    return Problem(
        name=f"xtb-{what}-{n_atoms}",
        space=molecule_space("qm9", n_atoms=n_atoms),
        objective=XtbProperty(what),
        seed=seed,
        source=XTB_SOURCE,
    )


def pmo_problem(seed: int, *, task: str) -> Problem:
    """Optimise the score of a task."""
    from ..molecules import molecule_space
    from ..molecules.guacamol import TASKS

    found = TASKS[task]
    return Problem(
        name=f"pmo-{task}",
        space=molecule_space(found.elements, n_atoms=found.n_atoms),
        objective=MinusScore(task),
        seed=seed,
        reference=-1.0 if any(part in task for part in _REACHABLE) else None,
        source=PMO_SOURCE,
    )


for _what in ("gap", "dipole", "polarisability"):
    for _n_atoms in XTB_SIZES:
        register(f"xtb-{_what}-{_n_atoms}")(partial(xtb_problem, what=_what, n_atoms=_n_atoms))
for _task in PMO_NAMES:
    register(f"pmo-{_task}")(partial(pmo_problem, task=_task))
