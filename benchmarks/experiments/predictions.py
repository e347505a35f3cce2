"""Predicted against true values of QM7 molecules, kernel by kernel (the paper's Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.errors import InvalidInputError
from bogrape.report.draw import new_figure

from ..figures import clean
from ..markdown_tables import markdown
from ..records import Record
from ..surrogates import get_surrogate
from . import Experiment, Plan, Task, register
from ._qm_files import load
from .kernels import KERNELS, scores, settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bogrape.graph import Graph

_SIZES = (4, 5, 6, 7)  # of drawn molecules; QM7 has up to seven heavy atoms
PAPER = Plan(problems=("qm7-data",), methods=KERNELS, replications=1, n_initial=30, n_iterations=70)


def run(task: Task) -> dict[str, Any]:
    """Fit to some molecules, predict the others."""
    n = task.settings["n_train"]
    graphs, values = molecules(task.problem, n + task.settings["n_test"], task.seed)
    surrogate = get_surrogate(task.method, 4).fit(graphs[:n], values[:n])
    mean, std = surrogate.predict(graphs[n:])
    return {
        **scores(values[n:], mean, std),
        "true": [float(f"{y:.5g}") for y in values[n:]],
        "mean": [float(f"{m:.5g}") for m in mean],
        "std": [float(f"{s:.5g}") for s in std],
    }


def molecules(source: str, n: int, seed: int) -> tuple[list[Graph], FloatArray]:
    """Random molecules and their values, from the file of QM7 or from sampler and oracle."""
    rng = np.random.default_rng(seed)
    if source == "qm7-data":
        data = load("qm7")
        index = rng.choice(len(data), n, replace=False)
        values = data.values[index]
        return [data.graphs[int(i)] for i in index], (values - values.mean()) / values.std()
    if source == "qm7-oracle":
        from bogrape.molecules import load_oracle, molecule_space

        sizes = rng.choice(_SIZES, n)
        graphs = [
            molecule_space("qm7", n_atoms=int(size)).sample(1, seed=int(rng.integers(2**31)))[0]
            for size in sizes
        ]
        return graphs, load_oracle("qm7").predict(graphs)
    raise InvalidInputError(f"expected qm7-data or qm7-oracle, got {source!r}")


def tables(records: Sequence[Record], references: Sequence[Record] = ()) -> str:  # noqa: ARG001
    """One row per kernel: error, likelihood, and share of true values within two deviations."""
    rows = []
    for method in sorted({record["method"] for record in records}, key=KERNELS.index):
        own = [record for record in records if record["method"] == method]
        inside = [
            np.mean(np.abs(np.subtract(r["true"], r["mean"])) <= 2 * np.array(r["std"]))
            for r in own
        ]
        rows.append(
            [
                method.replace("*", "\\*"),
                f"{np.mean([r['rmse'] for r in own]):.3f}",
                f"{np.median([r['mnll'] for r in own]):.3g}",
                f"{100 * np.mean(inside):.0f} %",
            ]
        )
    return markdown(["kernel", "RMSE", "MNLL", "within two deviations"], rows)


def figure(records: Sequence[Record], references: Sequence[Record] = ()) -> Figure:  # noqa: ARG001
    """One panel per kernel, first replication: predictions with one deviation against the truth."""
    first = min(record["seed"] for record in records)
    own = {record["method"]: record for record in records if record["seed"] == first}
    methods = sorted(own, key=KERNELS.index)
    columns = min(4, len(methods))
    rows = -(-len(methods) // columns)
    drawn = new_figure(2.5 * columns, 2.3 * rows)
    grid = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, method in zip(grid.ravel(), methods, strict=False):
        clean(axes)
        record = own[method]
        low, high = min(record["true"]), max(record["true"])
        axes.plot([low, high], [low, high], color="#6B7280", linewidth=1)
        axes.errorbar(
            *(record["true"], record["mean"], record["std"]),
            fmt="o",
            markersize=2.6,
            color="#0072B2",
            ecolor="#56B4E9",
            elinewidth=0.8,
        )
        axes.set_title(f"{method}: RMSE {record['rmse']:.2f}", fontsize=9)
        pad = 0.6 * (high - low)
        axes.set_ylim(low - pad, high + pad)
    for axes in grid.ravel()[len(methods) :]:
        axes.set_axis_off()
    for axes in grid[-1]:
        axes.set_xlabel("true", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel("predicted", fontsize=9)
    return drawn


register(
    Experiment(
        name="predictions",
        title="predicted against true values of QM7 molecules, for every kernel (needs --data)",
        source="Figure 2",
        plan=PAPER,
        short=replace(PAPER, problems=("qm7-oracle",)),
        quick=Plan(
            problems=("qm7-oracle",),
            methods=("wl*", "ssp"),
            replications=1,
            n_initial=8,
            n_iterations=10,
        ),
        settings=settings,
        run=run,
        tables=tables,
        figure=figure,
    )
)
