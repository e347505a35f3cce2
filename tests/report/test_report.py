"""The report: valid for every study, self-contained, escaped, small and quick."""

from __future__ import annotations

import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from bogrape import Graph, GraphGP, GraphSpace, Study, constraints, propose
from bogrape.cli import main
from bogrape.errors import InvalidInputError, StudyError
from bogrape.report import report_html, words, write_report
from bogrape.report.figures import FIGURES
from bogrape.report.notebook import notebook_html
from bogrape.report.picture import graph_svg
from bogrape.report.placement import place_all
from bogrape.report.survey import Survey
from bogrape.report.text import duration, esc, number
from bogrape.report.watch import watch
from bogrape.report.words import space_in_words
from places import ROOT

from report_cases import HOSTILE, SPACE, STUDIES, study_of, value_of
from strategies import any_graphs

SECTIONS = ("summary", "figures", "graphs", "trials", "space", "failures", "reproduce")
matplotlib = pytest.importorskip("matplotlib")


def parsed(page: str) -> ET.Element:
    """The page as XML; an error if it is not well-formed."""
    return ET.fromstring(page)


@cache
def page_of(name: str) -> str:
    return report_html(STUDIES[name]())


def texts(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


class References(HTMLParser):
    """Everything in a page that a browser might load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster"):
                self.found.append((tag, name, value or ""))
            assert not name.startswith("on"), f"an event handler in <{tag}>"

    handle_startendtag = handle_starttag


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_gives_a_valid_self_contained_page(name: str) -> None:
    page = page_of(name)
    root = parsed(page)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert set(SECTIONS) <= set(ids)
    found = References()
    found.feed(page)
    assert found.scripts == 1
    for tag, attribute, value in found.found:
        within = value.startswith("data:") or value.removeprefix("#") in ids
        assert within, (tag, attribute, value[:100])
    for address in re.findall(r"https?://[^\"'\s<)]+", page):
        assert address in ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
    assert "@import" not in page
    assert set(re.findall(r"url\(([^)]{1,200})\)", page)) <= {f"#{i}" for i in ids}


@pytest.mark.parametrize("name", STUDIES)
def test_every_picture_has_an_alternative_text(name: str) -> None:
    root = parsed(page_of(name))
    pictures = [element for element in root.iter() if element.tag.endswith("svg")]
    assert all(picture.get("role") == "img" and picture.get("aria-label") for picture in pictures)
    assert not [element for element in root.iter() if element.tag == "img"]


def test_the_summary_states_the_goal_the_result_and_the_uncertainty() -> None:
    study = STUDIES["thirty trials"]()
    root = parsed(report_html(study))
    summary = texts(next(e for e in root.iter() if e.get("id") == "summary"))
    assert number(study.best.value) in summary
    assert f"trial {study.best.id}" in summary
    assert "30" in summary
    assert "2 failed" in summary
    assert "off by" in summary
    assert "smallest value among connected graphs with 5 to 8 nodes" in texts(root)


def test_a_study_without_values_says_so() -> None:
    assert "none yet" in report_html(STUDIES["no trials"]())
    page = report_html(STUDIES["failures only"]())
    assert "No value yet" in page
    assert "5 failed" in page


def test_the_table_has_all_trials_with_a_picture_each_and_marks_the_best() -> None:
    study = STUDIES["thirty trials"]()
    table = next(e for e in parsed(report_html(study)).iter() if e.get("id") == "trials-table")
    rows = table.findall("tbody/tr")
    assert [int(row[0].get("data-v", "")) for row in rows] == [t.id for t in study.trials]
    assert all(len(row[1]) == 1 and row[1][0].tag.endswith("svg") for row in rows)
    assert [row[0].text for row in rows if row.get("class") == "best"] == [str(study.best.id)]
    values = [row[2].get("data-v") for row in rows]
    assert [None if v is None else float(v) for v in values] == [t.value for t in study.trials]


def test_user_text_is_escaped_everywhere() -> None:
    study = STUDIES["hostile labels"]()
    page = report_html(study)
    assert HOSTILE not in page
    assert "&lt;script&gt;alert" in page
    assert "<img" not in page
    assert "onerror=alert(1)&gt; &amp; &quot;gave up&quot;" in page
    assert "\x00" not in page
    assert "\ud800" not in page
    page.encode("utf-8")
    space = next(e for e in parsed(page).iter() if e.get("id") == "space")
    assert HOSTILE[:20] in texts(space)


def test_the_policy_lets_only_the_page_s_own_script_run() -> None:
    import base64
    import hashlib

    root = parsed(report_html(STUDIES["one trial"]()))
    script = next(e for e in root.iter() if e.tag == "script").text or ""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(
        e.get("content", "")
        for e in root.iter("meta")
        if e.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_two_thousand_trials_take_less_than_20_seconds_and_15_megabytes(tmp_path: Path) -> None:
    study = study_of(GraphSpace((8, 12), labels=4), 2000)
    start = time.process_time()
    file = write_report(study, tmp_path / "report.html")
    assert time.process_time() - start < 20
    assert file.stat().st_size < 15e6
    root = parsed(file.read_text(encoding="utf-8"))
    assert len(root.findall(".//table[@id='trials-table']/tbody/tr")) == 2000


def test_the_lines_that_reproduce_a_study_run(monkeypatch: pytest.MonkeyPatch) -> None:
    study = STUDIES["hostile labels"]()
    root = parsed(report_html(study, source="sqlite:///study.db"))
    code = next(e for e in root.iter("pre")).text or ""
    called: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr("bogrape.minimize", lambda *args, **given: called.append((args, given)))
    exec(compile(code, "report", "exec"), {"objective": None})
    ((args, given),) = called
    assert args[1] == study.space
    assert given["kernel"] == study.settings.kernel
    assert given["acquisition"] == study.settings.acquisition
    assert given["n_iterations"] + given["n_initial"] == len(study.trials)


def test_settings_of_every_kind_are_written_as_python() -> None:
    from bogrape import EI

    for chosen in (
        {"acquisition": EI(0.5), "time_limit": float("inf"), "noise": "fit"},
        {"acquisition": lambda mean, std, best: mean + 0 * std * best},
        {"acquisition": "lcb-growing", "direction": "maximize"},
    ):
        study = Study(GraphSpace(5), **chosen)  # type: ignore[arg-type]
        root = parsed(report_html(study))
        code = next(e for e in root.iter("pre")).text or ""
        assert "minimize(" in code
        compile(code, "report", "exec")


def test_without_matplotlib_there_is_a_report_without_figures() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from bogrape import GraphSpace, Study\n"
        "from bogrape.report import report_html\n"
        "study = Study(GraphSpace(5, labels=2))\n"
        "for graph in study.space.sample(4, seed=1): study.add(graph, float(graph.n_edges))\n"
        "page = report_html(study)\n"
        "print('bogrape[plots]' in page, 'trials-table' in page)\n"
        "print('<svg' in study.best.graph._repr_html_(), '<svg' in study._repr_html_())\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, check=True, timeout=60, capture_output=True, text=True)
    assert done.stdout.split() == ["True"] * 4


# -- its statements are true ------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["ssp", "sp", "esp"])
def test_leave_one_out_equals_a_posterior_without_the_observation(kernel: str) -> None:
    study = study_of(SPACE, 12, kernel=kernel)
    survey = Survey(study)
    loo, model = survey.left_out, survey.gp.posterior.model
    mean_of = model.y_mean + model.y_scale * model.y
    np.testing.assert_allclose(mean_of, loo.observed)
    graphs = [trial.graph for trial in study.trials]
    prior = GraphGP(kernel, noise=model.noise, n_labels=3, alpha=model.alpha, beta=model.beta)
    covariance = model.cross(model.counts)
    for i in range(0, len(graphs), 4):
        rest = [j for j in range(len(graphs)) if j != i]
        K = covariance[np.ix_(rest, rest)] + model.noise * np.eye(len(rest))
        weights = np.linalg.solve(K, covariance[rest, i])
        assert loo.mean[i] == pytest.approx(
            model.y_mean + model.y_scale * weights @ model.y[rest], rel=1e-3, abs=1e-3
        )
        variance = covariance[i, i] + model.noise - weights @ covariance[rest, i]
        assert loo.std[i] == pytest.approx(model.y_scale * np.sqrt(variance), rel=1e-2, abs=1e-4)
    assert prior.kernel.name == kernel


def test_the_space_and_its_rules_are_described_in_plain_words() -> None:
    rules = [
        constraints.NumberOfEdges(3, 9),
        constraints.DegreeRange(maximum=3, label="O"),
        constraints.LabelCount("O", 1, 1),
        constraints.FixedLabel(0, "C"),
        constraints.RequiredEdge(0, 1),
        constraints.ForbiddenEdge(0, 2),
        constraints.ForbiddenAdjacency("O", "O"),
        constraints.DiameterRange(maximum=4),
        constraints.CycleRange(maximum=2),
        constraints.RequiredSubgraph([(0, 1)], {0: "C"}),
        constraints.LinearRule(edges={(0, 1): 1}, maximum=1),
    ]
    space = GraphSpace((5, 7), labels=("C", "O"), rules=rules)
    said = space_in_words(space)
    assert said[0] == "Connected graphs with 5 to 7 nodes."
    assert said[1] == "Every node has one of 2 labels: C, O."
    assert "Every graph has 3 to 9 edges." in said
    assert "Every node labelled O has at most 3 edges." in said
    assert "Every graph has exactly 1 node labelled O." in said
    assert "Node 0 is labelled C." in said
    assert "No edge joins nodes labelled O and O." in said
    assert "A weighted sum of 1 edges is at most 1." in said
    assert len(said) == 2 + len(rules)
    assert constraints.Acyclic().describe() == "There are no cycles."


def test_numbers_and_times_are_short() -> None:
    assert number(-3.14159) == "−3.142"
    assert number(None) == "–"
    assert [duration(s) for s in (0.25, 90, 7200, 400000)] == [
        "0.25 s",
        "1.5 min",
        "2.0 h",
        "4.6 days",
    ]
    assert esc("<a href='x'>\n\x00&") == "&lt;a href=&#x27;x&#x27;&gt; &amp;"


# -- pictures and notebooks -------------------------------------------------------------------


@given(any_graphs())
@settings(max_examples=60)
def test_every_graph_has_a_well_formed_picture_with_all_its_nodes(graph: Graph) -> None:
    svg = ET.fromstring(graph_svg(graph))
    discs = [e.get("d", "") for e in svg.iter() if e.get("stroke-linecap") == "round"]
    assert sum(d.count("M") for d in discs) == graph.n_nodes
    box = [float(x) for x in svg.get("viewBox", "").split()]
    at = np.array([p for d in discs for p in re.findall(r"M(-?\d+) (-?\d+)h", d)], dtype=float)
    assert (at >= 0).all()
    assert (at <= [box[2], box[3]]).all()


def molecular(n: int) -> Study:
    pytest.importorskip("rdkit")
    from bogrape import molecules

    return study_of(molecules.molecule_space("qm9", n_atoms=6), n)


def test_molecules_are_drawn_as_molecules() -> None:
    study = molecular(12)
    page = report_html(study)
    root = parsed(page)
    assert "among connected molecules with 6 atoms" in page
    assert "Every atom has the valence of its element" in page
    labels = [e.get("alt", "") for e in root.iter() if e.tag.endswith("img")]
    drawn = [label for label in labels if label.startswith("molecule with 6 atoms")]
    assert len(drawn) == 1 + 6 + 6 + len(study.trials)  # the best, both galleries, the table
    for address in re.findall(r"https?://[^\"'\s<)]+", page):
        assert address.startswith("http://www.w3.org/")
    assert "xml" not in page.split("<style>")[0]


def test_neighbours_lie_closer_than_others_in_a_picture_of_a_path() -> None:
    n = 8
    matrix = np.eye(n, k=1) + np.eye(n, k=-1)
    (xy,) = place_all([Graph(matrix)])
    steps = np.linalg.norm(np.diff(xy, axis=0), axis=1)
    assert np.allclose(steps, 1.0, atol=0.05)
    assert np.linalg.norm(xy[0] - xy[-1]) == pytest.approx(n - 1, rel=0.05)


def test_a_graph_among_many_is_placed_as_it_is_alone() -> None:
    graphs = [g for n in (4, 6, 9) for g in GraphSpace(n).sample(3, seed=n)]
    for graph, xy in zip(graphs, place_all(graphs), strict=True):
        assert np.abs(xy - place_all([graph])[0]).max() < 1e-4


def test_notebooks_show_graphs_proposals_and_studies() -> None:
    study = STUDIES["thirty trials"]()
    graphs, values = study.dataset
    gp = GraphGP("sp", noise=1e-3, n_labels=3).fit(graphs[:10], values[:10])
    proposal = propose(SPACE, gp, method="sample", time_limit=1.0)
    for thing in (study.best.graph, proposal, study, STUDIES["no trials"]()):
        html = thing._repr_html_()
        assert html is not None
        ET.fromstring(html)
    assert "searched, no proof" in (proposal._repr_html_() or "")
    assert number(study.best.value, 6) in (study._repr_html_() or "")
    assert HOSTILE not in (STUDIES["hostile labels"]()._repr_html_() or "")
    assert notebook_html(3) is None


def test_study_plot_gives_every_figure_to_notebooks(tmp_path: Path) -> None:
    study = study_of(SPACE, 40, n_failed=2, kernel="essp", noise="fit")
    for name in (*FIGURES, "gallery"):
        chart = getattr(study.plot, name)()
        ET.fromstring(chart._repr_svg_())
        assert chart.words.endswith(".")
    study.plot.convergence().save(tmp_path / "convergence.png")
    assert (tmp_path / "convergence.png").stat().st_size > 1000
    assert "convergence" in repr(study.plot)


def test_a_figure_that_needs_more_observations_says_how_many() -> None:
    with pytest.raises(StudyError, match="needs 1 evaluated graphs; there are 0"):
        STUDIES["no trials"]().plot.convergence()
    with pytest.raises(StudyError, match="come with proposals"):
        STUDIES["one trial"]().plot.certificates()
    with pytest.raises(InvalidInputError, match="from 1 to 60"):
        STUDIES["one trial"]().plot.gallery(0)


# -- the command ------------------------------------------------------------------------------


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "study.db"
    study_of(SPACE, 5, storage=f"sqlite:///{file}", name="flask")
    return file


def test_the_command_writes_the_report_of_a_database(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = run(database, "-o", out)
    assert done.exit_code == 0, done.output
    page = out.read_text(encoding="utf-8")
    assert parsed(page).find(".//h1").text == "flask"  # type: ignore[union-attr]
    assert str(tmp_path) not in page
    assert "sqlite:///study.db" in page
    assert not list(tmp_path.glob("*.part"))


def test_the_command_takes_a_study_file_and_stops_watching_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'name = "flask"\n[space]\nn_nodes = 5\n[search]\nn_initial = 3\nn_iterations = 1\n'
    )
    study = Study(GraphSpace(5), f"sqlite:///{tmp_path}/study.db", "flask", n_initial=3)
    for trial in study.ask(3):  # type: ignore[union-attr]
        study.tell(trial, value_of(trial.graph))
    out = tmp_path / "report.html"
    assert run(tmp_path / "study.toml", "-o", out).exit_code == 0
    study._ledger.append([study._ledger.draft(study.space.sample(1, seed=9)[0], "queued")])
    asked = study.ask()
    study.fail(asked, "broke")
    done = run(tmp_path / "study.toml", "-o", out, "--watch", "1")
    assert done.exit_code == 0, done.output
    assert "refresh" not in out.read_text(encoding="utf-8")


def test_the_command_reports_what_is_wrong(database: Path, tmp_path: Path) -> None:
    missing = run(tmp_path / "nothing.db")
    assert missing.exit_code == 2
    assert "no file" in missing.output
    assert run(database, "-o", tmp_path / "nowhere" / "report.html").exit_code == 2
    unknown = run(database, "--name", "other", "-o", tmp_path / "r.html")
    assert unknown.exit_code == 2
    assert "'flask'" in unknown.output
    study_of(SPACE, 1, storage=f"sqlite:///{database}", name="second")
    several = run(database, "-o", tmp_path / "r.html")
    assert "--name" in several.output
    assert run(database, "-o", tmp_path / "r.html", "--name", "second").exit_code == 0


def test_watching_writes_again_only_when_the_study_has_changed(tmp_path: Path) -> None:
    study = study_of(SPACE, 2)
    out, written, slept = tmp_path / "report.html", [], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        page = out.read_text(encoding="utf-8")
        assert 'http-equiv="refresh" content="3"' in page
        if len(slept) == 2:
            graph = SPACE.sample(1, seed=50)[0]
            study.add(graph, value_of(graph))
        if len(slept) == 4:
            raise KeyboardInterrupt

    watch(study, out, 3, written=written.append, sleep=sleep)
    assert written == [2, 3, 3]
    assert 'http-equiv="refresh"' not in out.read_text(encoding="utf-8")


def test_the_tutorial_runs_and_ends_with_a_report() -> None:
    import runpy

    found = runpy.run_path(str(ROOT / "examples" / "tutorial.py"))
    assert found["study"].best.value <= min(found["values"])
    assert found["proposal"].bound <= found["proposal"].value
    assert parsed(found["report"].read_text(encoding="utf-8")).find(".//h1").text == "network"  # type: ignore[union-attr]


def test_observations_outside_the_space_are_marked_and_never_called_the_best() -> None:
    study = Study(GraphSpace(5, labels=2), name="outside")
    far = GraphSpace(8, labels=2).sample(3, seed=1, distinct=True)
    study.add_all([(graph, -50.0 - i) for i, graph in enumerate(far)])
    assert Survey(study).best == study.best  # while no observation lies in the space
    for i, graph in enumerate(study.space.sample(4, seed=2, distinct=True)):
        study.add(graph, float(i))
    survey = Survey(study)
    assert survey.best == study.best
    assert survey.best is not None
    assert survey.best.value == 0.0
    assert np.isnan(survey.best_so_far[:3]).all()
    assert survey.best_so_far[3:].tolist() == [0.0] * 4
    page = report_html(study)
    assert page.count("known before, outside the space") == 3
    assert "3 of these outside the space, which only train the model" in page


def test_changed_settings_are_listed_with_their_first_trial() -> None:
    study = Study(GraphSpace(5, labels=2), preset="paper")
    study.add(study.space.sample(1)[0], 1.0)
    assert "were changed during the study" not in report_html(study)
    study.change(kernel="sp", acquisition="ei", add_rules=[constraints.NumberOfEdges(maximum=8)])
    page = report_html(study)
    for part in ("From trial 1 on:", "kernel from ssp to sp", "rules added", "lcb to ei"):
        assert part in page


def test_a_crafted_history_does_no_harm() -> None:
    hostile: list[dict[str, Any]] = [{}, {"changed": 3}, {"changed": {"<b>": [1, {}, None]}}]
    assert len(words.changes_in_words(hostile)) == 3
