"""Whatever a database or a user supplies, the report is written, escaped and quick."""

from __future__ import annotations

import time
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph, GraphGP, GraphSpace, Study, Trial
from bogrape.cli import main
from bogrape.display import finite, printable
from bogrape.report import report_html
from bogrape.report.draw import MOST_DRAWN, draw_graph
from bogrape.report.picture import graph_svg
from bogrape.report.survey import MOST_NODES, Survey
from bogrape.report.words import blind_spot

from report_cases import STUDIES, study_of

pytest.importorskip("matplotlib")

SPACE = GraphSpace(5, labels=("C", "O"))
SCRIPT = '"><script>alert(1)</script>'
ODD: tuple[Any, ...] = (
    *(SCRIPT, "1e5", "", None, True, [1, 2], {"a": SCRIPT}, float("nan"), float("inf")),
    *(-float("inf"), 10**400, -(10**400), 1e308, -1e308, -1.0, 0),
)


CERTIFICATE: dict[str, Any] = {
    **{"value": -1.0, "bound": -1.5, "gap": 0.5, "status": "time_limit"},
    **{"seconds": 1.0, "mean": 0.5, "std": 0.1},
}


def with_trials(change: Any) -> Study:
    """A study with one trial per odd value, each changed without the study's checks."""
    source = study_of(SPACE, len(ODD))
    study = Study(SPACE, kernel="ssp", n_initial=10)
    trials = [change(trial) for trial in source.trials]
    study._ledger.append(trials)
    return study


def page_of(study: Study) -> ET.Element:
    """The report as XML; warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return ET.fromstring(report_html(study))


@pytest.mark.parametrize("key", ["value", "bound", "gap", "status", "seconds", "mean", "std"])
def test_a_crafted_certificate_is_neither_believed_nor_run(key: str) -> None:
    root = page_of(
        with_trials(lambda t: replace(t, certificate={**CERTIFICATE, key: ODD[t.id % len(ODD)]}))
    )
    assert len([e for e in root.iter() if e.tag == "script"]) == 1
    for cell in root.iter("td"):
        assert np.isfinite(float(cell.get("data-v", "0")))


@pytest.mark.parametrize(
    ("asked", "finished"),
    [
        (SCRIPT, SCRIPT),
        ("yesterday", "2026-01-01T00:00:00+00:00"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00"),  # only one has a time zone
        ("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"),
        ("", ""),
    ],
)
def test_crafted_dates_are_ignored(asked: str, finished: str) -> None:
    root = page_of(with_trials(lambda t: replace(t, asked=asked, finished=finished)))
    assert "alert(1)" not in ET.tostring(root, encoding="unicode").replace("&lt;script&gt;", "")


def test_crafted_hyperparameters_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bogrape.report.survey._MOST_FITTED", 5)  # so that recorded ones are used
    for odd in ODD:
        crafted = {"alpha": odd, "beta": odd, "noise": odd}
        survey = Survey(
            with_trials(
                lambda t, crafted=crafted: replace(
                    t, hyperparameters=crafted, certificate=CERTIFICATE
                )
            )
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(survey.left_out.mean).all()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
@settings(max_examples=100)
def test_only_finite_numbers_are_numbers(value: Any) -> None:
    found = finite(value)
    assert found is None or (np.isfinite(found) and found == value)


@pytest.mark.parametrize("top", [1e308, 1.7e308, 1e200, 1e-308])
def test_extreme_values_are_drawn_without_a_warning(top: float) -> None:
    study = Study(SPACE, n_initial=2)
    for i, graph in enumerate(SPACE.sample(6, seed=1)):
        study.add(graph, top if i % 2 else -top)
    study.add(study.trials[1].graph, top)  # a repeat: the sum of both overflows, the mean does not
    assert study.best.value == -top
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart = study.plot.convergence()
        ET.fromstring(chart.svg())
    page_of(study)


def test_a_value_that_the_model_clips_is_named() -> None:
    study = Study(SPACE, n_initial=2)
    graphs = SPACE.sample(12, seed=1, distinct=True)
    study.add_all([(g, 1e155 if i == 7 else float(g.n_edges)) for i, g in enumerate(graphs)])
    assert "very far from all others" in report_html(study)
    assert [trial.id for trial in Survey(study).clipped] == [7]
    assert "very far" not in report_html(STUDIES["ten trials"]())


def ring(n: int) -> Graph:
    matrix = np.zeros((n, n), dtype=bool)
    matrix[np.arange(n), (np.arange(n) + 1) % n] = True
    return Graph(matrix | matrix.T)


def test_a_graph_of_3000_nodes_is_described_and_the_report_does_not_hang() -> None:
    study = Study(GraphSpace(6), kernel="ssp", n_initial=2)
    small = GraphSpace(6).sample(6, seed=1)
    trials = [
        replace(study._ledger.draft(graph, "added"), state="complete", value=float(i))
        for i, graph in enumerate([ring(3000), *small])
    ]
    study._ledger.append(trials)
    start = time.process_time()
    text = report_html(study)
    assert time.process_time() - start < 20
    ET.fromstring(text)
    assert "3000 nodes" in text
    assert f"more than {MOST_NODES} nodes" in text


def test_only_graphs_that_can_be_seen_are_drawn() -> None:
    assert "too large to draw" in graph_svg(ring(MOST_DRAWN + 1))
    assert "too large to draw" not in graph_svg(ring(MOST_DRAWN))
    axes = draw_graph(ring(MOST_DRAWN + 1), title="large")
    assert "too large to draw" in axes.texts[0].get_text()


# -- terminals --------------------------------------------------------------------------------

CLIPBOARD = "\x1b]52;c;cm0gLXJmIC8=\x07"
REASON = f"\x1b[2J\x1b[31mred\x1b[0m {CLIPBOARD}\x9b5mblink\rover\x08\x07 bell"


def test_reasons_lose_their_terminal_control_sequences() -> None:
    shown = printable(REASON + "\nsecond line")
    assert "\x1b" not in shown
    assert "cm0gLXJm" not in shown
    assert [part.split() for part in shown.split("\n")] == [
        ["red", "blink", "over", "bell"],
        ["second", "line"],
    ]


@given(st.text())
@settings(max_examples=300)
def test_printable_texts_stay_and_others_become_printable(text: str) -> None:
    shown = printable(text)
    assert all(c == "\n" or c.isprintable() for c in shown)
    if text.isprintable():
        assert shown == text
    assert printable(shown) == shown


def test_the_command_line_shows_reasons_without_terminal_sequences(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('name = "flask"\n[space]\nn_nodes = 5\n')
    study = Study(GraphSpace(5), f"sqlite:///{tmp_path}/study.db", "flask")
    study.ask(worker="me")
    file = str(tmp_path / "study.toml")
    runner = CliRunner()
    failed = runner.invoke(main, ["fail", file, "0", REASON], color=True)
    status = runner.invoke(main, ["status", file], color=True)
    late = runner.invoke(main, ["tell", file, "0", "1.0"], color=True)  # quotes the reason
    assert late.exit_code != 0
    for done in (failed, status, late):
        assert "red" in done.output
        assert not any(c in done.output for c in "\x1b\x9b\x07\x08\r")


# -- what the model cannot see ----------------------------------------------------------------


def test_the_report_says_that_edge_labels_are_not_seen_and_that_is_true() -> None:
    study = STUDIES["bonds"]()
    assert "The model does not see the labels of edges" in report_html(study)
    graphs, values = study.dataset
    gp = GraphGP("sp", n_labels=3).fit(graphs, values)
    first = graphs[0]
    assert first.edge_labels is not None
    other = Graph(
        first.adjacency, first.labels, edge_labels=first.edge_labels % 3 + first.adjacency
    )
    assert other != first
    np.testing.assert_array_equal(gp.predict([first]), gp.predict([other]))


def test_nothing_is_said_about_edge_labels_where_there_are_none() -> None:
    assert blind_spot(Survey(STUDIES["ten trials"]())) is None
    assert "does not see the labels" not in report_html(STUDIES["ten trials"]())


def test_the_prediction_of_a_trial_is_none_unless_both_numbers_are_there() -> None:
    graph = SPACE.sample(1, seed=0)[0]

    def trial(**certificate: Any) -> Trial:
        return Trial(id=0, graph=graph, state="pending", certificate=certificate)

    assert trial(mean=1.5, std=0.25).predicted == (1.5, 0.25)
    for odd in (
        {},
        {"mean": 1.0},
        {"mean": "1", "std": 2.0},
        {"mean": 1.0, "std": None},
        {"mean": 10**400, "std": 1},
    ):
        assert trial(**odd).predicted is None
