"""Tables of simulated architecture searches, from records made by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.experiments.nas import DATA_SETS
from benchmarks.nas_findings import (
    latency_findings,
    left_out_findings,
    observed_findings,
    sweep_findings,
)
from benchmarks.nas_tables import left_out_table, observed_table, sweep_table


def swept(rank: int, **changes: Any) -> dict[str, Any]:
    ranks = {name: [rank, rank, 4 * rank] for name in DATA_SETS}
    record = {"quantity": "perf", "kernel": "gaussian", "groups": ["labels"], "values": "cap 3"}
    return {**record, "acquisition": "EI", "seeds": 30, "ranks": ranks, **changes}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_surrogates_are_ordered_by_their_mean_rank_and_those_of_few_seeds_left_out() -> None:
    groups = ["labels", "within_1", "within_2", "within_3", "farther", "ends"]
    own = ["labels", "ends", "levels", "neighbourhoods"]
    records = [
        swept(8, groups=groups),
        swept(2, noise_prior=[-2.3, 1.5]),
        swept(4, kernel="gaussian + linear", groups=own, seeds=20),
        swept(1, seeds=10),
        swept(1, quantity="latency"),
    ]
    rows = [cells(line) for line in sweep_table(records).splitlines()[2:]]
    assert [row[1] for row in rows] == [
        "labels",
        "labels, ends, levels, neighbourhoods",
        "path counts, ends",
    ]
    assert rows[1][0] == "gaussian + linear (`DagGP`)"
    assert rows[0][2] == "cap 3, EI, a prior of more noise"
    # the cube root of 2 * 2 * 8, and medians of 2
    assert rows[0][3:] == ["30", "3.2", "9", ", ".join(["2"] * 9)]
    assert rows[2][5] == "0"


def test_predictions_of_those_left_out_are_in_one_row_for_each_data_set() -> None:
    found = {"positions_of_best": [7, 8, 9], "best_of_chosen": 5}
    records = [
        {"data_set": "cora", "quantity": "perf", "model": "path counts", "r2": 0.5, **found},
        {"data_set": "cora", "quantity": "perf", "model": "own validation", **found},
        {"data_set": "cora", "quantity": "latency", "model": "path counts", "r2": 0.9, **found},
    ]
    row = cells(left_out_table(records).splitlines()[2])
    left_out = ["0.50", "7, 8, 9", "5"]
    assert row == ["cora", *left_out, "-", "-", "-", "7, 8, 9", "5", "0.90", "7, 8, 9"]


def test_the_mean_is_over_data_sets_that_have_all_numbers_of_observations() -> None:
    records = [
        {"data_set": "cora", "observed": n, "draw": draw, "best_of_chosen": best}
        for n, draw, best in ((100, 0, 2), (100, 1, 8), (1000, 0, 3))
    ]
    records.append({"data_set": "cs", "observed": 100, "draw": 0, "best_of_chosen": 50})
    lines = observed_table(records).splitlines()
    assert cells(lines[0]) == ["data set", "100", "1,000"]
    assert cells(lines[2]) == ["cora", "5", "3"]
    assert ["cs", "50", "-"] in [cells(line) for line in lines]
    assert cells(lines[-1]) == ["geometric mean of complete rows", "4.0", "3.0"]


def test_the_effect_of_the_cap_is_that_on_variants_equal_in_everything_else() -> None:
    found = sweep_findings(
        [
            swept(2),
            swept(4, values="as they are"),
            swept(9, values="as they are", kernel="linear"),
            swept(1, quantity="latency"),
        ]
    )
    # mean ranks are 2, 4 and 9 times the cube root of 4
    assert "3 variants, with 30 to 30 seeds each" in found
    assert "go from 3.2 to 14.3, and 1 variants are within 20 %" in found
    assert "on more than 9 of the 9 data sets" in found
    assert "smaller by 50 to 50 %, in 1 pairs" in found


def test_models_that_know_everything_else_are_counted_by_data_set() -> None:
    best = {"model": "all counts, additive", "quantity": "perf"}
    found = left_out_findings(
        [
            {"data_set": "cora", **best, "positions_of_best": [7, 1, 2], "best_of_chosen": 3},
            {"data_set": "cs", **best, "positions_of_best": [1234, 1, 2], "best_of_chosen": 4},
        ]
    )
    assert "contain one of the best 3 on 1 of 2 data sets" in found
    assert "between positions 7 and 1,234" in found
    assert "validation" not in found


def test_enough_observations_are_those_that_reach_six_data_sets() -> None:
    def records(n: int, reached: int) -> list[dict[str, Any]]:
        return [
            {"data_set": name, "observed": n, "draw": 0, "best_of_chosen": 3 if i < reached else 4}
            for i, name in enumerate(DATA_SETS)
        ]

    few = records(100, 5)
    assert observed_findings(few).endswith(
        "5 of 9 after 100; so 6 data sets take more than 100 observations."
    )
    assert observed_findings([*few, *records(1000, 6)]).endswith(
        "5 of 9 after 100, 6 of 9 after 1,000; so 6 data sets take at most 1,000 observations."
    )


def test_latency_is_told_by_kernel_with_the_data_sets_that_are_missed() -> None:
    record = swept(1, quantity="latency", seeds=3)
    record["ranks"]["physics"] = [1, 2, 9]
    assert latency_findings([record, swept(1)]) == (
        "- gaussian of labels, EI: median rank 1 on 8 of 9 data sets, 2 on `physics` (3 seeds)."
    )
