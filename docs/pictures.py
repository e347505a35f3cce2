"""Draw the pictures of the README and of the concept pages: ``python docs/pictures.py``.

``python docs/pictures.py front`` also repeats the runs behind the README's picture (minutes) and
writes their values to ``docs/results/front.jsonl``; without it, that file is read. Names of
problems after ``front`` repeat the runs of these only.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from bogrape import Graph, GraphSpace, minimize
from bogrape.constraints import CycleRange, DegreeRange, ForbiddenAdjacency
from bogrape.molecules import (
    ForbiddenSubstructure,
    LargestRing,
    NoAdjacentHeteroatoms,
    SmallestRing,
    draw,
    molecule_space,
    objectives,
    scaffold,
    to_smiles,
)
from bogrape.problems import get_problem
from bogrape.report.draw import draw_graph

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "bogrape", "font.size": 10, "svg.fonttype": "path"})

HERE = Path(__file__).parent
IMAGES = HERE / "images"
DATA = HERE / "results" / "front.jsonl"
INK, ACCENT, GREY = "#1F2937", "#7C3AED", "#94A3B8"


@dataclass(frozen=True)
class Shown:
    """A column of the README's picture; ``sign`` is -1 if its objective is minus the axis."""

    name: str
    title: str
    axis: str
    space: GraphSpace
    objective: Callable[[Graph], float]
    sign: int = 1


def pyridines() -> Shown:
    """Drug-like molecules on a pyridine ring."""
    rules = [
        scaffold("c1ccncc1", keep_rings=True),
        NoAdjacentHeteroatoms(),
        SmallestRing(5),
        LargestRing(6),
        CycleRange(maximum=2),
        ForbiddenSubstructure("[F,O,N]-C-[F,O,N]"),
    ]
    space = molecule_space(("C", "N", "O", "F"), n_atoms=(10, 16), rules=rules)
    title, axis = "a drug-like molecule", "QED (larger is better)"
    return Shown("pyridines", title, axis, space, lambda g: -objectives.qed(to_smiles(g)), -1)


def known(name: str, title: str, axis: str) -> Shown:
    """One of `bogrape.problems`."""
    problem = get_problem(name, seed=1)
    return Shown(name, title, axis, problem.space, problem.objective)


def problems() -> list[Shown]:
    """The columns of the picture."""
    return [
        pyridines(),
        known("network-10", "a communication network", "latency, fragility and price"),
        known("cell-7", "a neural-network cell", "validation error"),
    ]


N_INITIAL, N_PROPOSALS, N_RANDOM = 10, 30, 20


def save(figure: Any, name: str) -> None:
    """Write a picture without a date, so that the same picture gives the same file."""
    IMAGES.mkdir(exist_ok=True)
    options = {"metadata": {"Date": None}} if name.endswith("svg") else {"dpi": 110}
    figure.savefig(IMAGES / name, bbox_inches="tight", facecolor="white", **options)
    plt.close(figure)
    print(f"wrote {IMAGES / name}: {(IMAGES / name).stat().st_size // 1000} kB")


def run_front(names: Sequence[str]) -> None:
    """One study per problem, and random sampling with the same number of evaluations."""
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.check_output(head, cwd=HERE, text=True).strip()
    lines = {line["problem"]: line for line in map(json.loads, DATA.read_text().splitlines())}
    for shown in problems():
        if names and shown.name not in names:
            continue
        study = minimize(
            shown.objective,
            shown.space,
            n_iterations=N_PROPOSALS,
            n_initial=N_INITIAL,
            method="search",
            n_evaluations=30_000,
            time_limit=60,
            seed=1,
            progress=False,
        )
        n = N_INITIAL + N_PROPOSALS
        random = [
            [shown.objective(graph) for graph in shown.space.sample(n, seed=100 + i)]
            for i in range(N_RANDOM)
        ]
        lines[shown.name] = {
            "problem": shown.name,
            "seed": 1,
            "commit": commit,
            "values": [trial.value for trial in study.trials],
            "best": study.best.graph.to_json(),
            "random": random,
        }
        print(shown.name, study.best.value, np.min(random, axis=1).mean())
    ordered = [lines[shown.name] for shown in problems()]
    DATA.write_text("".join(json.dumps(line) + "\n" for line in ordered))


def front() -> None:
    """Three best graphs, and how they were found."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), height_ratios=[1.7, 1])
    for line, shown, (top, bottom) in zip(
        map(json.loads, DATA.read_text().splitlines()), problems(), axes.T, strict=True
    ):
        assert line["problem"] == shown.name
        graph = Graph.from_json(line["best"])
        if shown.sign < 0:
            picture = draw([shown.space.identity(graph)], columns=1, size=700)
            top.imshow(plt.imread(BytesIO(picture)))
            top.axis("off")
        else:
            draw_graph(graph, top, label_names=shown.space.label_names)
        top.set_title("")
        best = shown.sign * np.minimum.accumulate(line["values"])
        random = shown.sign * np.minimum.accumulate(line["random"], axis=1)
        steps = np.arange(1, len(best) + 1)
        bottom.axvline(N_INITIAL + 0.5, color=GREY, lw=0.8, ls=":")
        bottom.fill_between(
            steps, random.min(axis=0), random.max(axis=0), color=GREY, alpha=0.25, lw=0
        )
        bottom.plot(steps, random.mean(axis=0), color=GREY, label=f"random, {N_RANDOM} runs")
        bottom.plot(steps, best, color=ACCENT, lw=2.2, label="BoGrape")
        bottom.set_xlabel("evaluations")
        bottom.set_ylabel(shown.axis, fontsize=9)
        bottom.spines[["top", "right"]].set_visible(False)
    axes[1, 1].legend(frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    for shown, bottom in zip(
        problems(), axes[1], strict=True
    ):  # in one line: axes differ in height
        box = bottom.get_position()
        title = {"ha": "center", "color": INK, "fontsize": 13, "fontweight": "bold"}
        figure.text((box.x0 + box.x1) / 2, 0.955, shown.title, **title)
    save(figure, "front.png")


def space_picture() -> None:
    """Graphs in a space, and graphs that break its rules."""
    space = GraphSpace(
        n_nodes=(4, 5),
        labels=("hub", "sensor"),
        rules=[DegreeRange(maximum=3), ForbiddenAdjacency("sensor", "sensor")],
    )
    inside = space.sample(12, seed=4, distinct=True)
    star = [[int(0 in (u, v) and u != v) for v in range(5)] for u in range(5)]
    path = [[int(abs(u - v) == 1) for v in range(4)] for u in range(4)]
    split = [[int({u, v} in ({0, 1}, {2, 3})) for v in range(4)] for u in range(4)]
    outside = [
        (Graph(star, [0, 1, 1, 1, 1]), "four neighbours"),
        (Graph(path, [0, 1, 1, 0]), "two sensors joined"),
        (Graph(split, [0, 1, 0, 1]), "not connected"),
    ]
    figure = plt.figure(figsize=(10, 3.6))
    grid = figure.add_gridspec(3, 6, width_ratios=[1, 1, 1, 1, 0.25, 1.2])
    for i, graph in enumerate(inside):
        ax = figure.add_subplot(grid[i // 4, i % 4])
        _small(graph, ax)
    for i, (graph, reason) in enumerate(outside):
        ax = figure.add_subplot(grid[i, 5])
        _small(graph, ax)
        ax.text(1.02, 0.5, reason, transform=ax.transAxes, color="#B91C1C", va="center")
    figure.text(0.36, 0.94, f"in the space ({space.count()} graphs in all)", ha="center", color=INK)
    figure.text(0.80, 0.94, "not in the space", ha="center", color="#B91C1C")
    save(figure, "space.svg")


def _small(graph: Graph, ax: Any) -> None:
    g = graph.to_networkx()
    at = nx.kamada_kawai_layout(g) if nx.is_connected(g) else nx.circular_layout(g)
    for u, v in g.edges:
        ax.plot(*zip(at[u], at[v], strict=True), color=GREY, lw=1.5, zorder=1)
    colours = ["#7C3AED" if label == 0 else "#F59E0B" for label in graph.labels]
    ax.scatter(*np.array([at[v] for v in g]).T, s=70, c=colours, zorder=2)
    ax.set_xlim(-1.25, 1.25)
    ax.set_ylim(-1.25, 1.25)
    ax.set_aspect("equal")
    ax.axis("off")


def counts_picture() -> None:
    """From a graph to its distances to the counts a kernel sees."""
    edges = [(0, 1), (1, 2), (2, 3), (1, 4)]
    matrix = np.zeros((5, 5), dtype=int)
    for u, v in edges:
        matrix[u, v] = matrix[v, u] = 1
    graph = Graph(matrix, [0, 1, 0, 1, 0])
    distances = graph.distances()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3), width_ratios=[1, 1, 1.1])
    at = np.array([(-1, 0), (0, 0), (1, 0), (2, 0), (0, 1)])
    for u, v in edges:
        left.plot(*at[[u, v]].T, color=GREY, lw=2, zorder=1)
    colours = ["#7C3AED" if label == 0 else "#F59E0B" for label in graph.labels]
    left.scatter(*at.T, s=420, c=colours, zorder=2)
    for v, (x, y) in enumerate(at):
        left.text(x, y, str(v), color="white", ha="center", va="center", zorder=3)
    left.set(xlim=(-1.6, 2.6), ylim=(-1.2, 1.8), title="a graph")
    left.axis("off")
    middle.imshow(distances, cmap="Purples", vmin=0, vmax=4)
    for u in range(5):
        for v in range(5):
            ink = "white" if distances[u, v] > 2 else INK
            middle.text(v, u, int(distances[u, v]), ha="center", va="center", color=ink)
    middle.set(xticks=range(5), yticks=range(5), title="steps between its nodes")
    numbers = np.bincount(distances.astype(int).ravel(), minlength=4)
    right.bar(range(len(numbers)), numbers, color=ACCENT)
    for s, number in enumerate(numbers):
        right.text(s, number + 0.2, number, ha="center", color=INK)
    right.set(title="what SSP sees", xlabel="distance", ylabel="ordered pairs of nodes")
    right.set_xticks(range(len(numbers)))
    right.set_ylim(0, 9.5)
    right.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    save(figure, "counts.svg")


def certificate_picture() -> None:
    """Acquisition values of all graphs, the bound below them, and the gap."""
    rng = np.random.default_rng(3)
    values = np.sort(rng.normal(0.0, 1.0, 160))
    values = values[values > -2.0]
    figure, axes = plt.subplots(2, 1, figsize=(9, 2.9), sharex=True)
    for ax, bound, status in zip(
        axes, (values[0], values[0] - 0.7), ("optimal", "time_limit"), strict=True
    ):
        ax.axvspan(-4, bound, color="#D1FAE5", lw=0)
        ax.scatter(values, np.zeros(len(values)), s=26, color=GREY, alpha=0.6, lw=0)
        ax.scatter([values[0]], [0], s=80, color=ACCENT, zorder=3)
        ax.axvline(bound, color="#059669", lw=2)
        ax.text(bound - 0.04, 0.62, "bound", color="#059669", ha="right")
        ax.text(values[0] + 0.04, -0.85, "proposed graph: value", color=ACCENT)
        ax.text(-3.2, -0.1, "proved:\nno graph here", color="#047857", va="center", fontsize=9)
        ax.text(2.9, 0.62, f'status "{status}"', color=INK, ha="right", family="monospace")
        if status == "time_limit":
            ax.annotate(
                "", (bound, 0.35), (values[0], 0.35), arrowprops={"arrowstyle": "<->", "color": INK}
            )
            ax.text((bound + values[0]) / 2, 0.5, "gap", color=INK, ha="center")
        ax.set(xlim=(-3.3, 3), ylim=(-1, 1), yticks=[])
        ax.spines[["top", "right", "left"]].set_visible(False)
    axes[1].set_xlabel("acquisition value (smaller is better); every dot is a graph of the space")
    figure.tight_layout()
    save(figure, "certificate.svg")


if __name__ == "__main__":
    if sys.argv[1:2] == ["front"]:
        run_front(sys.argv[2:])
    if DATA.exists():
        front()
    space_picture()
    counts_picture()
    certificate_picture()
