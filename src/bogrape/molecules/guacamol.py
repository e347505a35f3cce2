"""Scores of the GuacaMol and PMO benchmarks that RDKit alone can compute, from 0 to 1.

Written from the definitions of Brown et al. 2019 (GuacaMol, doi 10.1021/acs.jcim.8b00839); PMO (Gao
et al. 2022, arXiv 2206.12411) uses 17 of them, QED, and two hop tasks. Left out: DRD2, GSK3β and
JNK3, whose scores come from trained predictors that are not part of any package.

A score is a mean, geometric unless stated otherwise, of terms such as "similarity to ranolazine,
full marks from 0.7" and "logP of 7 or more". Two details differ between implementations; here

* isomers count all atoms, hydrogens included, as GuacaMol does;
* similarities compare counts, not bits.

>>> round(TASKS["celecoxib_rediscovery"].score(CELECOXIB), 3)
1.0
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from rdkit import Chem, DataStructs, rdBase
from rdkit.Chem import QED, Crippen, GraphDescriptors, rdMolDescriptors

from ..graph import Graph
from .fingerprints import similarity_to
from .properties import synthetic_accessibility
from .smiles import to_mol

Term = Callable[[Any], float]  # of an RDKit molecule
LEFT_OUT = ("drd2", "gsk3b", "jnk3")  # tasks of PMO that need trained predictors

# -- shapes of a term: the score of a quantity ------------------------------------------------


def gaussian(quantity: Term, mean: float, width: float) -> Term:
    """One at the mean, less on both sides."""
    return lambda mol: math.exp(-0.5 * ((quantity(mol) - mean) / width) ** 2)


def at_least(quantity: Term, mean: float, width: float) -> Term:
    """One from the mean on, a Gaussian below it."""
    return lambda mol: math.exp(-0.5 * (min(quantity(mol) - mean, 0.0) / width) ** 2)


def at_most(quantity: Term, mean: float, width: float) -> Term:
    """One up to the mean, a Gaussian above it."""
    return lambda mol: math.exp(-0.5 * (max(quantity(mol) - mean, 0.0) / width) ** 2)


def full_marks_from(quantity: Term, enough: float) -> Term:
    """Proportional to the quantity, and one from ``enough`` on."""
    return lambda mol: min(max(quantity(mol) / enough, 0.0), 1.0)


def geometric(*terms: Term) -> Term:
    """Geometric mean: zero if one of the terms is."""

    def mean(mol: Any) -> float:
        found = [term(mol) for term in terms]
        return math.exp(sum(map(math.log, found)) / len(found)) if min(found) > 0 else 0.0

    return mean


def arithmetic(*terms: Term) -> Term:
    """Plain mean."""
    return lambda mol: sum(term(mol) for term in terms) / len(terms)


# -- quantities -------------------------------------------------------------------------------


def log_p(mol: Any) -> float:
    """Wildman and Crippen's logP."""
    return float(Crippen.MolLogP(mol))  # type: ignore[attr-defined]


def tpsa(mol: Any) -> float:
    """Polar surface area."""
    return float(rdMolDescriptors.CalcTPSA(mol))


def bertz(mol: Any) -> float:
    """Bertz' measure of complexity."""
    return float(GraphDescriptors.BertzCT(mol))  # type: ignore[no-untyped-call]


def rings(mol: Any) -> float:
    """Number of rings."""
    return float(rdMolDescriptors.CalcNumRings(mol))


def aromatic_rings(mol: Any) -> float:
    """Number of aromatic rings."""
    return float(rdMolDescriptors.CalcNumAromaticRings(mol))


def number_of(element: str) -> Term:
    """Number of atoms of an element other than hydrogen."""
    return lambda mol: float(sum(atom.GetSymbol() == element for atom in mol.GetAtoms()))


def hydrogens(mol: Any) -> float:
    """Number of hydrogens."""
    return float(sum(atom.GetTotalNumHs() for atom in mol.GetAtoms()))


def all_atoms(mol: Any) -> float:
    """Number of atoms, hydrogens included."""
    return float(mol.GetNumAtoms()) + hydrogens(mol)


def has(smarts: str) -> Term:
    """One if the substructure occurs, else zero."""
    pattern = Chem.MolFromSmarts(smarts)
    return lambda mol: float(mol.HasSubstructMatch(pattern))


def has_not(smarts: str) -> Term:
    """One if the substructure does not occur, else zero."""
    pattern = Chem.MolFromSmarts(smarts)
    return lambda mol: float(not mol.HasSubstructMatch(pattern))


def like(smiles: str, fingerprint: str) -> Term:
    """Tanimoto similarity to a molecule."""
    return similarity_to(Chem.MolFromSmiles(smiles), fingerprint)


def isomer(formula: str) -> Term:
    """Similarity of a molecule to a molecular formula."""
    wanted = {e: int(k or 1) for e, k in re.findall(r"([A-Z][a-z]?)(\d*)", formula)}
    counts = [
        gaussian(hydrogens if element == "H" else number_of(element), k, 1.0)
        for element, k in wanted.items()
    ]
    return geometric(*counts, gaussian(all_atoms, sum(wanted.values()), 2.0))


def _pharmacophores(mol: Any) -> Any:
    from rdkit.Chem.Pharm2D import Generate, Gobbi_Pharm2D  # late: takes half a second

    return Generate.Gen2DFingerprint(mol, Gobbi_Pharm2D.factory)  # type: ignore[no-untyped-call]


def like_pharmacophores(smiles: str) -> Term:
    """Tanimoto similarity of Gobbi's two-dimensional pharmacophores."""
    wanted = _pharmacophores(Chem.MolFromSmiles(smiles))
    return lambda mol: float(DataStructs.TanimotoSimilarity(wanted, _pharmacophores(mol)))


def penalized_log_p(mol: Any) -> float:
    """LogP minus synthetic accessibility minus large rings, each standardised on ZINC (Jin 2018).

    Not a score from 0 to 1: larger is better, without a limit.
    """
    rings_of = Chem.GetSymmSSSR(mol)
    largest = max((len(ring) for ring in rings_of), default=0)
    log_p_part = (log_p(mol) - 2.4570953396190123) / 1.434324401111988
    access_part = (-synthetic_accessibility(mol) + 3.0525811293166134) / 0.8335207024513095
    ring_part = (-max(largest - 6, 0) + 0.0485696876403053) / 0.2860212110245455
    return log_p_part + access_part + ring_part


# -- tasks ------------------------------------------------------------------------------------

CELECOXIB = "CC1=CC=C(C=C1)C1=CC(=NN1C1=CC=C(C=C1)S(N)(=O)=O)C(F)(F)F"
TROGLITAZONE = "Cc1c(C)c2OC(C)(COc3ccc(CC4SC(=O)NC4=O)cc3)CCc2c(C)c1O"
THIOTHIXENE = "CN(C)S(=O)(=O)c1ccc2Sc3ccccc3C(=CCCN4CCN(C)CC4)c2c1"
ARIPIPRAZOLE = "Clc4cccc(N3CCN(CCCCOc2ccc1c(NC(=O)CC1)c2)CC3)c4Cl"
ALBUTEROL = "CC(C)(C)NCC(O)c1ccc(O)c(CO)c1"
MESTRANOL = "COc1ccc2[C@H]3CC[C@@]4(C)[C@@H](CC[C@@]4(O)C#C)[C@@H]3CCc2c1"
CAMPHOR, MENTHOL = "CC1(C)C2CCC1(C)C(=O)C2", "CC(C)C1CCC(C)CC1O"
TADALAFIL = "O=C1N(CC(N2C1CC3=C(C2C4=CC5=C(OCO5)C=C4)NC6=C3C=CC=C6)=O)C"
SILDENAFIL = "CCCC1=NN(C2=C1N=C(NC2=O)C3=C(C=CC(=C3)S(=O)(=O)N4CCN(CC4)C)OCC)C"
OSIMERTINIB = "COc1cc(N(C)CCN(C)C)c(NC(=O)C=C)cc1Nc2nccc(n2)c3cn(C)c4ccccc34"
FEXOFENADINE = "CC(C)(C(=O)O)c1ccc(cc1)C(O)CCCN2CCC(CC2)C(O)(c3ccccc3)c4ccccc4"
RANOLAZINE = "COc1ccccc1OCC(O)CN2CCN(CC(=O)Nc3c(C)cccc3C)CC2"
PERINDOPRIL = "O=C(OCC)C(NC(C(=O)N1C(C(=O)O)CC2CCCCC12)C)CCC"
AMLODIPINE = r"Clc1ccccc1C2C(=C(/N/C(=C2/C(=O)OCC)COCCN)C)\C(=O)OC"
SITAGLIPTIN = "Fc1cc(c(F)cc1F)CC(N)CC(=O)N3Cc2nnc(n2CC3)C(F)(F)F"
ZALEPLON = "O=C(C)N(CC)C1=CC=CC(C2=CC=NC3=C(C=NN23)C#N)=C1"
_HOPPER = "CCCOc1cc2ncnc(Nc3ccc4ncsc4c3)c2cc1S(=O)(=O)C(C)(C)C"
_HOP_SCAFFOLD = "[#7]-c1n[c;h1]nc2[c;h1]c(-[#8])[c;h0][c;h1]c12"
_HOP_DECORATION = "[#6]-[#6]-[#6]-[#8]-[#6]~[#6]~[#6]~[#6]~[#6]-[#7]-c1ccc2ncsc2c1"


@dataclass(frozen=True)
class Task:
    """One task: the score of a molecule, and the molecules to search.

    Attributes:
        build: makes the score; called once.
        elements: labels of the atoms that the task needs.
        n_atoms: smallest and largest number of heavy atoms that the task needs.
        is_pmo: whether it is a task of PMO.
    """

    build: Callable[[], Term]
    elements: tuple[str, ...]
    n_atoms: tuple[int, int]
    is_pmo: bool = True

    @cached_property
    def _term(self) -> Term:
        return self.build()

    def score(self, molecule: Graph | str) -> float:
        """The score of a molecule, given as a graph or SMILES; larger is better."""
        mol = Chem.MolFromSmiles(molecule) if isinstance(molecule, str) else to_mol(molecule)
        with rdBase.BlockLogs():
            return float(self._term(mol))


def _similarity(smiles: str, fingerprint: str) -> Callable[[], Term]:
    return lambda: full_marks_from(like(smiles, fingerprint), 0.75)


def _as_of(smiles: str) -> Callable[[Term], float]:
    return lambda quantity: quantity(Chem.MolFromSmiles(smiles))


def _valsartan() -> Term:
    of_sitagliptin = _as_of("NC(CC(=O)N1CCn2c(nnc2C(F)(F)F)C1)Cc1cc(F)c(F)cc1F")
    return geometric(
        has("CN(C=O)Cc1ccc(c2ccccc2)cc1"),
        gaussian(log_p, of_sitagliptin(log_p), 0.2),
        gaussian(tpsa, of_sitagliptin(tpsa), 5.0),
        gaussian(bertz, of_sitagliptin(bertz), 30.0),
    )


def _sitagliptin() -> Term:
    of_sitagliptin = _as_of(SITAGLIPTIN)
    return geometric(
        gaussian(like(SITAGLIPTIN, "ECFP4"), 0.0, 0.1),
        gaussian(log_p, of_sitagliptin(log_p), 0.2),
        gaussian(tpsa, of_sitagliptin(tpsa), 5.0),
        isomer("C16H15F6N5O"),
    )


_CNO, _CNOS = ("C", "N", "O"), ("C", "N", "O", "S(6)", "S")
_DRUGS = ("C", "N", "O", "F", "S", "S(6)", "Cl")
TASKS: Mapping[str, Task] = {
    "celecoxib_rediscovery": Task(
        lambda: like(CELECOXIB, "ECFP4"), ("C", "N", "O", "F", "S(6)"), (20, 26)
    ),
    "troglitazone_rediscovery": Task(
        lambda: like(TROGLITAZONE, "ECFP4"), ("C", "N", "O", "S"), (25, 31)
    ),
    "thiothixene_rediscovery": Task(lambda: like(THIOTHIXENE, "ECFP4"), _CNOS, (24, 30)),
    "aripiprazole_similarity": Task(
        _similarity(ARIPIPRAZOLE, "FCFP4"), (*_CNO, "Cl"), (24, 30), is_pmo=False
    ),
    "albuterol_similarity": Task(_similarity(ALBUTEROL, "FCFP4"), _CNO, (13, 17)),
    "mestranol_similarity": Task(_similarity(MESTRANOL, "atom pairs"), ("C", "O"), (19, 23)),
    "isomers_c11h24": Task(lambda: isomer("C11H24"), ("C",), (9, 12), is_pmo=False),
    "isomers_c7h8n2o2": Task(lambda: isomer("C7H8N2O2"), _CNO, (9, 12)),
    "isomers_c9h10n2o2pf2cl": Task(
        lambda: isomer("C9H10N2O2PF2Cl"), (*_CNO, "P", "F", "Cl"), (15, 18)
    ),
    "median1": Task(
        lambda: geometric(like(CAMPHOR, "ECFP4"), like(MENTHOL, "ECFP4")), ("C", "O"), (9, 12)
    ),
    "median2": Task(
        lambda: geometric(like(TADALAFIL, "ECFP6"), like(SILDENAFIL, "ECFP6")),
        (*_CNO, "S(6)"),
        (26, 33),
    ),
    "osimertinib_mpo": Task(
        lambda: geometric(
            full_marks_from(like(OSIMERTINIB, "FCFP4"), 0.8),
            at_most(like(OSIMERTINIB, "ECFP6"), 0.85, 0.1),
            at_least(tpsa, 100.0, 10.0),
            at_most(log_p, 1.0, 1.0),
        ),
        _DRUGS,
        (28, 37),
    ),
    "fexofenadine_mpo": Task(
        lambda: geometric(
            full_marks_from(like(FEXOFENADINE, "atom pairs"), 0.8),
            at_least(tpsa, 90.0, 10.0),
            at_most(log_p, 4.0, 1.0),
        ),
        _DRUGS,
        (28, 37),
    ),
    "ranolazine_mpo": Task(
        lambda: geometric(
            full_marks_from(like(RANOLAZINE, "atom pairs"), 0.7),
            at_least(log_p, 7.0, 1.0),
            at_least(tpsa, 95.0, 20.0),
            gaussian(number_of("F"), 1.0, 1.0),
        ),
        _DRUGS,
        (25, 36),
    ),
    "perindopril_mpo": Task(
        lambda: geometric(like(PERINDOPRIL, "ECFP4"), gaussian(aromatic_rings, 2.0, 0.5)),
        _CNOS,
        (22, 32),
    ),
    "amlodipine_mpo": Task(
        lambda: geometric(like(AMLODIPINE, "ECFP4"), gaussian(rings, 3.0, 0.5)),
        (*_CNOS, "Cl"),
        (24, 32),
    ),
    "sitagliptin_mpo": Task(_sitagliptin, (*_CNO, "F"), (24, 30)),
    "zaleplon_mpo": Task(
        lambda: geometric(like(ZALEPLON, "ECFP4"), isomer("C19H17N3O2")), _CNO, (20, 26)
    ),
    "valsartan_smarts": Task(_valsartan, (*_CNO, "F"), (24, 33)),
    "deco_hop": Task(
        lambda: arithmetic(
            full_marks_from(like_pharmacophores(_HOPPER), 0.85),
            has_not("CS([#6])(=O)=O"),
            has_not("[#7]-c1ccc2ncsc2c1"),
            has(_HOP_SCAFFOLD),
        ),
        _DRUGS,
        (24, 32),
    ),
    "scaffold_hop": Task(
        lambda: arithmetic(
            full_marks_from(like_pharmacophores(_HOPPER), 0.75),
            has(_HOP_DECORATION),
            has_not(_HOP_SCAFFOLD),
        ),
        _DRUGS,
        (24, 32),
    ),
    "qed": Task(lambda: QED.qed, _DRUGS, (16, 26)),
    "penalized_logp": Task(lambda: penalized_log_p, ("C", "N", "O", "S", "Cl"), (16, 26), False),
}


@cache
def pmo_tasks() -> tuple[str, ...]:
    """Names of the tasks of PMO."""
    return tuple(name for name, task in TASKS.items() if task.is_pmo)


def top_auc(scores: Sequence[float], budget: int, *, top: int = 10, every: int = 100) -> float:
    """PMO's measure: area under the mean of the ``top`` best scores so far, over the budget.

    Scores come in the order of evaluation. The curve starts at zero and is read every ``every``
    evaluations, with straight lines between; if fewer than ``budget`` molecules were evaluated, it
    is constant from then on.

    >>> top_auc([1.0] * 200, 200, every=100)
    0.75
    """
    found = np.asarray(scores, dtype=float)[:budget]
    total, before, called = 0.0, 0.0, 0
    for at in (*range(every, len(found), every), len(found)):
        now = float(np.sort(found[:at])[-top:].mean())
        total += (at - called) * (before + now) / 2
        before, called = now, at
    return (total + (budget - called) * before) / budget
