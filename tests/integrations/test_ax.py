"""Graphs in Ax experiments: new, valid, and the ones that a study would choose."""

from __future__ import annotations

from typing import Any

import pytest

from bogrape import Graph, GraphSpace, Study
from bogrape.constraints import DegreeRange
from bogrape.errors import InvalidInputError, NotInSpaceError, UnsupportedError

pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("ax", reason="needs Ax: pip install 'bogrape[ax]'")

from ax.api.client import Client  # noqa: E402
from ax.api.configs import RangeParameterConfig  # noqa: E402
from ax.generation_strategy.generation_strategy import GenerationStrategy  # noqa: E402

from bogrape.integrations.ax import (  # noqa: E402
    BoGrapeNode,
    graph_of,
    parameter_configs,
    parameters_of,
)

SPACE = GraphSpace(5, labels=("C", "O"), rules=[DegreeRange(maximum=3)])
QUICK: Any = {
    "kernel": "ssp",
    "noise": 1e-3,
    "method": "search",
    "n_evaluations": 300,
    "n_initial": 4,
}


def value(graph: Graph) -> float:
    return float(graph.distances().mean() + 0.2 * graph.n_edges - 0.1 * graph.labels.sum())


def experiment(objective: str = "-cost", space: GraphSpace = SPACE, **settings: Any) -> Any:
    client = Client()
    client.configure_experiment(parameters=parameter_configs(space))
    client.configure_optimization(objective=objective)
    node = BoGrapeNode(space, **{**QUICK, **settings})
    client.set_generation_strategy(GenerationStrategy(nodes=[node]))
    return client


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_same_seed_gives_the_graphs_of_a_study(direction: Any) -> None:
    ours = Study(SPACE, seed=3, direction=direction, **QUICK)
    client = experiment("-cost" if direction == "minimize" else "cost", seed=3)
    for _ in range(8):
        trial = ours.ask()
        ours.tell(trial, value(trial.graph))
        for index, parameters in client.get_next_trials(max_trials=1).items():
            assert graph_of(parameters, SPACE) == trial.graph
            client.complete_trial(trial_index=index, raw_data={"cost": value(trial.graph)})
    best = client.get_best_parameterization()[0]
    assert graph_of(best, SPACE) == ours.best.graph


def test_batches_failures_and_attached_graphs_give_no_graph_twice() -> None:
    client = experiment()
    mine = SPACE.sample(1, seed=4)[0]
    index = client.attach_trial(parameters_of(mine, SPACE))
    client.complete_trial(trial_index=index, raw_data={"cost": value(mine)})
    graphs = [mine]
    for step in range(5):
        batch = client.get_next_trials(max_trials=3)
        assert len(batch) == 3
        for index, parameters in batch.items():
            graphs.append(graph_of(parameters, SPACE))
            if (step + index) % 4 == 0:
                client.mark_trial_failed(trial_index=index)
            elif (step + index) % 4 == 1:
                client.mark_trial_abandoned(trial_index=index)
            else:
                client.complete_trial(trial_index=index, raw_data={"cost": value(graphs[-1])})
    assert all(SPACE.contains(graph) for graph in graphs)
    assert len({SPACE.identity(graph) for graph in graphs}) == len(graphs) == 16


def test_unsupported_experiments_and_settings_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="graphs of one size, got 3 to 5"):
        parameter_configs(GraphSpace((3, 5)))
    with pytest.raises(InvalidInputError, match="direction belongs to the Ax experiment"):
        BoGrapeNode(SPACE, direction="maximize")
    with pytest.raises(InvalidInputError, match="unknown setting 'kernal'"):
        BoGrapeNode(SPACE, kernal="ssp")
    client = Client()
    more = RangeParameterConfig(name="rate", bounds=(0.0, 1.0), parameter_type="float")
    client.configure_experiment(parameters=[*parameter_configs(SPACE), more])
    client.configure_optimization(objective="cost")
    client.set_generation_strategy(GenerationStrategy(nodes=[BoGrapeNode(SPACE, **QUICK)]))
    with pytest.raises(UnsupportedError, match="has another parameter, 'rate'"):
        client.get_next_trials(max_trials=1)
    client = experiment("a, b")
    with pytest.raises(UnsupportedError, match="one objective"):
        client.get_next_trials(max_trials=1)
    empty = dict.fromkeys(parameters_of(SPACE.sample(1)[0], SPACE), 0)
    with pytest.raises(NotInSpaceError):
        graph_of({**empty, **{f"node {v}": "C" for v in range(5)}}, SPACE)
