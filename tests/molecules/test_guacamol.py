"""Scores of GuacaMol and PMO against published ones, and PMO's area under the curve."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape.molecules import from_smiles
from bogrape.molecules import guacamol as scores
from bogrape.molecules.fingerprints import similarity_to
from bogrape.molecules.guacamol import LEFT_OUT, TASKS, pmo_tasks, top_auc
from bogrape.problems import get_problem
from bogrape.problems.molecular_design import LEFT_OUT as LEFT_OUT_THERE
from bogrape.problems.molecular_design import PMO_NAMES

# Scores computed by the package guacamol: of molecules found by optimisers, as recorded in the
# tests of SynNet's successor syn_dags, and of the example in TDC's documentation (the last one).
PUBLISHED = [
    (
        "perindopril_mpo",
        "CCCC(NC(C)C(=O)n1nc(C2CCCC2)c2sn(C3CC3C(=O)O)c21)C(=O)OCC",
        0.7643025682552586,
    ),
    (
        "amlodipine_mpo",
        "CCOC(=O)C1=C(CN)NC(C)=C(C(=O)OCCOCc2nn(C)s2)C1c1ccccc1Cl",
        0.8246211251235321,
    ),
    ("sitagliptin_mpo", "CON=C(NN=Cc1ccc(N2CC(F)(F)N2)cc1)c1ccc(F)cn1", 0.6606539012699573),
    (
        "aripiprazole_similarity",
        "O=C1NCc2ccc(OCCCCN3CCN(c4cccc(Cl)c4Cl)CC3)cc2O1",
        0.9866666666666666,
    ),
    (
        "osimertinib_mpo",
        "CSc1cnccc1NC(=O)c1nc(-c2ccc([PH](N)(O)N3CCN(C)CC3)cc2)ccc1[BiH+79]",
        0.8555261858712448,
    ),
    (
        "ranolazine_mpo",
        "Cc1c(COCCCCCCC(=O)OC(C)C)cccc1NC(=O)CCCCCCC(O)COc1ccccc1F",
        0.9039763229494032,
    ),
    ("zaleplon_mpo", "CC(=O)N(Cc1cc(-c2cccnc2)ccn1)c1cccc(O)c1", 0.6407232755171874),
    ("valsartan_smarts", "O=C1COC(=O)N1Cc1ccc(-c2ccc(F)cc2)cc1Cl", 6.304158683343028e-08),
    ("deco_hop", "COc1cc2ncnc(Nc3cccc4cnccc34)c2cc1OC", 0.9036551295980133),
    ("scaffold_hop", "C=S(=O)(c1ccc(C)cc1)n1ccc2c(Nc3ccc4nnsc4c3)nc(Cl)nc21", 0.5757575757575757),
    ("celecoxib_rediscovery", "Cc1ccc(C=Nc2ccc(S(N)(=O)=O)cc2)cc1", 0.4588235294117647),
    (
        "troglitazone_rediscovery",
        "Cc1c(C)c2c(c(C)c1O)CCC(C)(C(=O)NCOc1ccc(O)cc1)O2",
        0.5094339622641509,
    ),
    ("albuterol_similarity", "CCC(O)c1ccc(O)c(C#C[Ge](C)(O)Br)c1", 0.7719298245614035),
    (
        "fexofenadine_mpo",
        "COC(=O)C1=CC(F)=CC=S1NC(=O)COCC(O)N1CCC(C(c2ccccc2)c2ccccc2)CC1",
        0.784002259753152,
    ),
    (
        "albuterol_similarity",
        "CC(C)(C)[C@H]1CCc2c(sc(NC(=O)COc3ccc(Cl)cc3)c2C(N)=O)C1",
        0.2772277227722772,
    ),
]
TARGETS = {
    "celecoxib_rediscovery": scores.CELECOXIB,
    "troglitazone_rediscovery": scores.TROGLITAZONE,
    "thiothixene_rediscovery": scores.THIOTHIXENE,
    "aripiprazole_similarity": scores.ARIPIPRAZOLE,
    "albuterol_similarity": scores.ALBUTEROL,
    "mestranol_similarity": scores.MESTRANOL,
    "isomers_c11h24": "CCCCCCCCCCC",
    "isomers_c7h8n2o2": "CC(=O)Nc1cccc(=O)[nH]1",
}


@pytest.mark.parametrize(("task", "smiles", "published"), PUBLISHED)
def test_scores_equal_those_of_the_package_guacamol(
    task: str, smiles: str, published: float
) -> None:
    assert TASKS[task].score(smiles) == pytest.approx(published, rel=1e-6)


@pytest.mark.parametrize("task", TARGETS)
def test_the_target_of_a_task_scores_one(task: str) -> None:
    assert TASKS[task].score(TARGETS[task]) == pytest.approx(1.0)


def test_a_wrong_isomer_loses_score_for_its_formula_and_its_size() -> None:
    # C10H22: one carbon fewer, two hydrogens fewer, three atoms fewer
    expected = np.exp(-0.5 * (1 + 4 + (3 / 2) ** 2) / 3)
    assert TASKS["isomers_c11h24"].score("CCCCCCCCCC") == pytest.approx(expected)


def test_a_median_is_the_geometric_mean_of_two_similarities() -> None:
    camphor, menthol = map(scores.Chem.MolFromSmiles, (scores.CAMPHOR, scores.MENTHOL))
    alike = similarity_to(camphor, "ECFP4")(menthol)
    assert 0 < alike < 1
    for smiles in (scores.CAMPHOR, scores.MENTHOL):  # one of the two similarities is 1
        assert TASKS["median1"].score(smiles) == pytest.approx(alike**0.5)


def test_a_graph_and_its_smiles_have_the_same_score() -> None:
    space = get_problem("pmo-albuterol_similarity").space
    graph = from_smiles(scores.ALBUTEROL, space)
    assert space.contains(graph)
    assert get_problem("pmo-albuterol_similarity").objective(graph) == pytest.approx(-1.0)


def test_the_23_tasks_of_pmo_are_included_or_listed_as_left_out() -> None:
    assert len(pmo_tasks()) + len(LEFT_OUT) == 23
    assert not set(LEFT_OUT) & set(TASKS)
    assert set(PMO_NAMES) == set(TASKS)
    assert LEFT_OUT_THERE == LEFT_OUT


def test_penalised_log_p_penalises_rings_of_more_than_six_atoms() -> None:
    task = TASKS["penalized_logp"]
    small, large = task.score("C1CCCCC1"), task.score("C1CCCCCC1")
    ring = 1 / 0.2860212110245455
    log_p = scores.log_p(scores.Chem.MolFromSmiles("C1CCCCCC1")) - scores.log_p(
        scores.Chem.MolFromSmiles("C1CCCCC1")
    )
    # abs: the accessibility scores differ, too
    assert large - small == pytest.approx(log_p / 1.434324401111988 - ring, abs=0.6)


def reference_auc(values: list[float], budget: int, top: int, every: int) -> float:
    """PMO's loop, one evaluation at a time, on the curve at multiples of ``every`` and its end."""
    knots = [(0, 0.0)]
    for at in [*range(every, len(values), every), len(values)]:
        knots.append((at, float(np.mean(sorted(values[:at], reverse=True)[:top]))))
    knots.append((budget, knots[-1][1]))
    xs, ys = zip(*knots, strict=True)
    return float(np.trapezoid(ys, xs) / budget)


@pytest.mark.parametrize(("n", "budget", "every"), [(100, 100, 10), (237, 400, 100), (5, 10, 100)])
def test_top_auc_is_the_area_under_the_mean_of_the_best(n: int, budget: int, every: int) -> None:
    values = list(np.random.default_rng(n).random(n))
    expected = reference_auc(values, budget, 10, every)
    assert top_auc(values, budget, top=10, every=every) == pytest.approx(expected)


def test_top_auc_does_not_look_beyond_the_budget() -> None:
    assert top_auc([0.5] * 100 + [1.0] * 100, 100, every=10) == top_auc([0.5] * 100, 100, every=10)
