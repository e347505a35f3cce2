"""Statistics of replications, checked by enumeration and by hand."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.fill_document import filled
from benchmarks.markdown_tables import finals_table, optimiser_tables
from benchmarks.statistics import (
    common,
    compare,
    compare_runs,
    expected_best,
    group,
    is_bogrape,
    joined,
    methods_of,
    scales,
    shares,
)
from bogrape.errors import InvalidInputError


def run(
    method: str, seed: int, values: list[float], problem: str = "p", n_initial: int = 1
) -> dict[str, object]:
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "values": values,
        "n_initial": n_initial,
        "seconds": [0.5] * (len(values) - n_initial),
    }


def signed_rank_p(difference: np.ndarray) -> float:
    """Wilcoxon's exact two-sided p, by enumerating all signs."""
    ranks = np.argsort(np.argsort(np.abs(difference))) + 1.0
    total = ranks.sum()
    seen = min(ranks[difference > 0].sum(), ranks[difference < 0].sum())
    sums = [
        min((ranks * signs).sum(), total - (ranks * signs).sum())
        for signs in map(np.array, product((0, 1), repeat=len(ranks)))
    ]
    return float(np.mean([s <= seen for s in sums]))


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_expected_best_is_the_mean_over_all_subsets(n: int) -> None:
    values = np.array([0.3, -1.0, 4.0, 0.3, 2.0, 7.5])
    subsets = [min(subset) for subset in combinations(values, n)]
    assert expected_best(values, n) == pytest.approx(np.mean(subsets))


def test_expected_best_of_many_values_is_that_of_their_distribution() -> None:
    values = np.random.default_rng(0).uniform(size=20_000)
    assert expected_best(values, 9) == pytest.approx(0.1, rel=0.02)  # 1 / (n + 1)


def test_comparison_counts_pairs_and_agrees_with_all_sign_flips() -> None:
    rng = np.random.default_rng(1)
    for n in (3, 6, 9):
        ours, theirs = rng.normal(size=n), rng.normal(0.5, size=n)
        found = compare(ours, theirs)
        assert found.wins == (ours < theirs).sum()
        assert (found.ties, found.losses) == (0, n - found.wins)
        assert found.p == pytest.approx(signed_rank_p(ours - theirs))


def test_equal_pairs_are_ties_and_ties_alone_are_not_significant() -> None:
    found = compare(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert (found.wins, found.ties, found.losses, found.p) == (0, 2, 0, 1.0)


def test_curves_finals_and_areas_by_hand() -> None:
    runs = group([run("m", 1, [3.0, 4.0, 1.0]), run("m", 0, [5.0, 2.0, 2.5])])["p", "m"]
    assert runs.seeds == (0, 1)
    assert runs.best.tolist() == [[5.0, 2.0, 2.0], [3.0, 3.0, 1.0]]
    assert runs.final.tolist() == [2.0, 1.0]
    assert runs.area.tolist() == [2.0, 2.0]  # over the two proposals


def test_replications_with_different_budgets_are_not_averaged() -> None:
    with pytest.raises(InvalidInputError, match="different budgets"):
        group([run("m", 0, [1.0, 2.0]), run("m", 1, [1.0, 2.0, 3.0])])


def test_means_use_seeds_that_all_methods_share_and_pairs_those_that_two_share() -> None:
    records = [
        *(run("random", seed, [2.0, 1.5]) for seed in (0, 1, 2, 3)),
        *(run("ssp", seed, [2.0, 1.0]) for seed in (0, 2, 3)),
        run("esp", 2, [2.0, 1.2]),
    ]
    runs = group(records)
    shared = common(runs)
    assert {r.seeds for r in shared.values()} == {(0, 2, 3)}
    assert ("p", "esp") not in shared  # one of four: it has hardly begun
    pair = compare_runs(runs["p", "ssp"], runs["p", "random"])
    assert pair is not None
    assert pair[0].wins == 3
    assert methods_of(runs) == ["random", "ssp", "esp"]


def test_a_method_with_many_replications_does_not_push_the_others_out() -> None:
    records = [
        *(run("random", seed, [2.0, 1.5]) for seed in (0, 1)),
        *(run("ssp", seed, [2.0, 1.0]) for seed in (0, 1)),
        *(run("rbf", seed, [2.0, 1.0]) for seed in range(9)),
    ]
    known = [
        {"problem": "p", "seed": seed, "best": 1.0, "how": "x", "seeded": True, "random": 3.0}
        for seed in range(9)
    ]
    shared = common(group(records))
    assert {key[1]: r.seeds for key, r in shared.items()} == {
        "random": (0, 1),
        "ssp": (0, 1),
        "rbf": (0, 1),
    }
    assert "| p | rbf | 9 | 100.0 |" in optimiser_tables(records, known)


def test_share_of_the_way_runs_from_random_sampling_to_the_best_known() -> None:
    records = [run("ssp", 0, [3.0, 2.0]), run("ssp", 1, [3.0, 0.5])]
    reference = {"problem": "p", "how": "long search", "seeded": True, "random": 3.0}
    known = [{**reference, "seed": 0, "best": 1.0}, {**reference, "seed": 1, "best": 1.0}]
    scale = scales(records, known)
    # in replication 1 the run itself found a better value than the long search
    assert (scale["p", 1].best, scale["p", 1].how) == (0.5, "a run")
    found = shares(group(records)["p", "ssp"], scale)
    assert found is not None
    assert found.tolist() == [0.5, 1.0]
    assert shares(group([run("ssp", 7, [1.0, 1.0])])["p", "ssp"], scale) is None
    reached = [{**reference, "seed": seed, "random": 0.5, "best": 0.5} for seed in (0, 1)]
    assert shares(group(records)["p", "ssp"], scales(records, reached)) is None  # nothing to gain


def test_references_need_both_a_best_value_and_random_sampling() -> None:
    best = [{"problem": "p", "seed": 0, "best": 1.0, "how": "x"}]
    random = [{"problem": "p", "seed": s, "random": 3.0, "seeded": True} for s in (0, 1)]
    (found,) = joined(best, random)
    assert (found["seed"], found["best"], found["random"], found["how"]) == (0, 1.0, 3.0, "x")


def test_one_function_for_all_seeds_has_one_best_value() -> None:
    records = [run("ssp", 0, [3.0, 2.0]), run("ssp", 1, [3.0, 0.5])]
    known = [
        {"problem": "p", "seed": 0, "best": 1.0, "how": "x", "seeded": False, "random": 3.0},
    ]
    assert {scale.best for scale in scales(records, known).values()} == {0.5}


def test_methods_of_bogrape_are_named_after_its_kernels() -> None:
    ours = ("ssp", "esp-search", "sp:60", "essp")
    assert all(map(is_bogrape, ours))
    assert not any(map(is_bogrape, ("random", "rw-rand", "wl-rand:100", "wl-evol", "spx")))


def test_the_best_mean_is_bold_and_missing_references_are_dashes() -> None:
    runs = common(group([run("random", 0, [3.0, 2.0]), run("ssp", 0, [3.0, 1.0])]))
    table = finals_table(runs, {}).splitlines()
    assert "| random | 2 ± 0 |" in table
    assert "| ssp | **1 ± 0** |" in table
    assert table[-1] == "| *best known* | - |"


def test_tables_say_if_there_is_nothing_to_compare() -> None:
    only = [run("random", 0, [1.0, 1.0]), run("ssp", 1, [1.0, 1.0])]
    assert "No replication" in optimiser_tables(only)


def test_a_document_is_filled_between_its_marks_and_nowhere_else() -> None:
    text = "About `<!-- bench x -->`\n<!-- bench a -->\nold\n<!-- end -->\n"
    text += "prose\n<!-- bench b -->\n<!-- end -->\n"
    once = filled(text, lambda name: f"table of {name}")
    assert "old" not in once
    assert "prose" in once
    assert once.index("table of a") < once.index("prose") < once.index("table of b")
    assert filled(once, lambda name: f"table of {name}") == once
    with pytest.raises(InvalidInputError, match="end"):
        filled("<!-- bench a -->\nno end", str)
    with pytest.raises(InvalidInputError, match="nothing to fill"):
        filled("no marks at all", str)
