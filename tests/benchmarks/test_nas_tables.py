"""Tables of simulated architecture searches, from records made by hand."""

from __future__ import annotations

from typing import Any

from benchmarks.experiments.nas import DATA_SETS
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
