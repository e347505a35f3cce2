# %% [markdown]
# # A first study, cell by cell
#
# Open this file in an editor that knows `# %%` cells (VS Code, PyCharm, Spyder, Jupyter with
# jupytext) and run one cell after the other, or run it as a script: `python examples/tutorial.py`.
# It takes less than a minute.

# %%
import tempfile
from pathlib import Path

from bogrape import GraphGP, GraphSpace, constraints, minimize, propose
from bogrape.report import write_report

# %% [markdown]
# ## The space
#
# We look for a small communication network: six stations, each a hub, a relay or a sensor. Hubs
# must not be neighbours, and no station has more than three cables.

# %%
space = GraphSpace(
    n_nodes=6,
    labels=("hub", "relay", "sensor"),
    rules=[
        constraints.DegreeRange(maximum=3),
        constraints.ForbiddenAdjacency("hub", "hub"),
        constraints.LabelCount("sensor", minimum=2),
    ],
)
print(space.describe())

# %% [markdown]
# A few graphs of it. In a notebook, the last line of this cell is a picture.

# %%
graphs = space.sample(8, seed=1, distinct=True)
graphs[0]

# %% [markdown]
# ## The objective
#
# Usually a simulation or a measurement; here a formula: mean distance, plus the price of cables
# and stations. Smaller is better.

# %%
PRICES = {"hub": 0.5, "relay": 0.2, "sensor": 0.1}
PRICE_OF_LABEL = [PRICES[name] for name in ("hub", "relay", "sensor")]


def objective(graph):
    """Mean distance of two stations, plus what the network costs."""
    stations = sum(PRICE_OF_LABEL[label] for label in graph.labels)
    far_from_hub = 0.0 if 0 in graph.labels else 1.0
    return float(graph.distances().mean() + 0.1 * graph.n_edges + stations + far_from_hub)


values = [objective(graph) for graph in graphs]
print([round(value, 2) for value in values])

# %% [markdown]
# ## A model of eight observations
#
# A Gaussian process with a shortest-path kernel predicts the value of any graph, with its
# uncertainty.

# %%
gp = GraphGP(kernel="sp", n_labels=space.n_labels).fit(graphs, values)
mean, std = gp.predict(space.sample(3, seed=7))
for m, s in zip(mean, std, strict=True):
    print(f"{m:.2f} ± {2 * s:.2f}")

# %% [markdown]
# ## The next graph
#
# `propose` finds the graph with the smallest lower confidence bound and certifies it: no graph of
# the space lies below `bound`.

# %%
proposal = propose(space, gp, exclude=graphs, time_limit=2.0)
print(proposal.status, round(proposal.value, 3), round(proposal.bound, 3))
proposal

# %% [markdown]
# ## The whole loop
#
# `minimize` repeats all of this and keeps every trial in a file. By default
# it uses the kernel `rbf`, which learns what matters, and expected improvement.

# %%
folder = Path(tempfile.mkdtemp())
study = minimize(
    objective,
    space,
    n_iterations=6,
    n_initial=8,
    seed=1,
    time_limit=1.0,
    storage=f"sqlite:///{folder}/network.db",
    name="network",
    progress=False,
)
print(study.best.value)
study

# %% [markdown]
# ## Figures
#
# Each figure is one call, and a picture in a notebook (these need `pip install 'bogrape[plots]'`).

# %%
study.plot.convergence()

# %%
study.plot.predictions()

# %%
print(study.plot.drivers().words)

# %% [markdown]
# And everything together as one file, to open in a browser or to send to a colleague. On the
# command line: `bogrape report network.db`.

# %%
report = write_report(study, folder / "report.html", source="sqlite:///network.db")
print(f"{report.name}: {report.stat().st_size // 1000} kB")
