"""The pages and their forms, without a browser."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from click.testing import CliRunner

from bogrape import Study
from bogrape.cli import main
from bogrape.web.drawn import editor_data, graph_of
from bogrape.web.tradeoff import _Axis

from web_cases import SPACE, client, mark, new_study, send


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    return new_study(tmp_path)


@pytest.fixture
def web(url: str) -> Iterator[Any]:
    with client(url) as found:
        yield found


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_study_without_trials_has_a_page(web: Any) -> None:
    assert "Looking for the smallest value" in text_of(web.get("/").text)
    page = text_of(web.get("/studies/one").text)
    assert "Nothing has been evaluated yet" in page
    assert web.get("/studies/one/trials/0").status_code == 404
    assert web.get("/studies/two").status_code == 404


def test_results_failures_and_corrections_can_be_entered_in_forms(url: str, web: Any) -> None:
    Study.load(url, "one").ask(3)
    send(web, "/person", {"person": "Ann"})
    told = send(web, "/studies/one/trials/0/tell", {"value": "3.5", "deviation": "0.5"})
    assert told.status_code == 200
    send(web, "/studies/one/trials/1/fail", {"reason": "no yield"})
    assert send(web, "/studies/one/trials/2/tell", {"value": "3,5"}).status_code == 422
    assert send(web, "/studies/one/trials/2/tell", {"value": "inf"}).status_code == 422
    send(web, "/studies/one/trials/0/correct", {"value": "3.25", "reason": "misread"})
    study = Study.load(url, "one")
    assert (study.trials[0].value, study.trials[0].noise) == (3.25, 0.25)
    assert study.trials[1].reason == "no yield"
    assert study.trials[1].succeeded is False
    assert study.trials[2].state == "pending"
    broke = {"reason": "the oven broke", "not_the_graph": "1"}
    send(web, "/studies/one/trials/2/fail", broke)
    assert Study.load(url, "one").trials[2].succeeded is None
    page = text_of(web.get("/studies/one/trials/0").text)
    for words in ("Ann told the value", "Ann corrected the value", "initial design", "3.25"):
        assert words in page
    assert "no yield" in web.get("/studies/one").text


def test_pasted_results_are_recorded_all_or_none(url: str, web: Any) -> None:
    Study.load(url, "one").ask(3)
    bad = send(web, "/studies/one/paste", {"lines": "0 1.5\n1 many\n9 2"})
    assert bad.status_code == 422
    assert "line 2" in bad.text
    assert "trial 9 does not exist" in bad.text
    assert all(trial.state == "pending" for trial in Study.load(url, "one").trials)
    send(web, "/studies/one/paste", {"lines": "0 1.5\n#1\t2.5\t0.1\n\n2; -1e-3"})
    values = [trial.value for trial in Study.load(url, "one").trials]
    assert values == [1.5, 2.5, -0.001]


def test_a_file_is_previewed_and_every_bad_row_is_named(url: str, web: Any) -> None:
    good, large = (
        SPACE.sample(1, seed=1)[0].to_json(),
        '{"n_nodes":2,"edges":[[0,1]],"labels":[0,0]}',
    )

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    file = f"graph,value\n{quoted(good)},1.5\n{quoted(large)},2\nnonsense,3\n{quoted(good)},x\n"
    answer = web.post(
        "/studies/one/upload",
        data={"csrf": mark(web)},
        files={"file": ("../../data.csv", file.encode(), "text/csv")},
    )
    page = text_of(answer.text)
    assert "2 rows can be used" in page
    assert "1 of them outside the space" in page
    assert page.count("cannot be used") == 2
    assert "used only to train the model" in page
    assert "expected a number as value, got 'x'" in page
    assert len(Study.load(url, "one").trials) == 0
    found = re.search(r'name="upload" value="([^"]+)"', answer.text)
    assert found is not None
    for _ in range(2):  # a second click changes nothing
        assert send(web, "/studies/one/confirm", {"upload": found[1]}).status_code == 200
    assert [trial.value for trial in Study.load(url, "one").trials] == [1.5, 2.0]
    assert send(web, "/studies/one/confirm", {"upload": "../x"}).status_code == 409
    for name, content in (("a.exe", b"x"), ("a.csv", b"\xff\xfe\x00"), ("a.csv", b"")):
        again = web.post(
            "/studies/one/upload", data={"csrf": mark(web)}, files={"file": (name, content)}
        )
        assert again.status_code == 422


def test_a_drawing_becomes_a_candidate(url: str, web: Any) -> None:
    drawing = '{"nodes": [0, 1, 1, 0], "edges": [[0, 1, 0], [1, 2, 0], [2, 3, 0]]}'
    made = send(web, "/studies/one/candidate", {"how": "drawn", "drawing": drawing})
    assert made.status_code == 200
    (trial,) = Study.load(url, "one").trials
    assert (trial.state, trial.graph.n_edges) == ("queued", 3)
    assert graph_of(drawing, SPACE) == trial.graph
    data = editor_data(SPACE, trial.graph)
    assert (len(data["nodes"]), len(data["edges"]), data["labels"]) == (4, 3, ["a", "b"])
    for bad in (
        *("", "{}", "[]", "[" * 9999, '{"nodes": [0], "edges": []}'),
        '{"nodes": [0, 7], "edges": [[0, 1, 0]]}',
        '{"nodes": [0, 0], "edges": [[0, 9, 0]]}',
    ):
        answer = send(web, "/studies/one/candidate", {"how": "drawn", "drawing": bad})
        assert answer.status_code == 422
    assert len(Study.load(url, "one").trials) == 1


def test_a_form_describes_its_space_and_names_contradictions(url: str, web: Any) -> None:
    form = {"name": "circuits", "kind": "graphs", "n_min": "4", "n_max": "5", "labels": "x, y"}
    headers = {"x-part": "1", "x-csrf-token": mark(web)}
    fine = web.post("/new/check", data={**form, "degree_max": "3"}, headers=headers).text
    assert "Connected graphs with 4 to 5 nodes." in text_of(fine)
    assert fine.count("<svg") == 6
    apart = web.post("/new/check", data={**form, "counts": "x 9 9"}, headers=headers).text
    assert "rules that can hold together" in text_of(apart)
    odd = web.post(
        "/new/check", data={**form, "counts": "what", "n_min": "many"}, headers=headers
    ).text
    assert "<strong>Numbers of labels</strong>: expected a label" in odd
    assert "<strong>Smallest size</strong>: expected a number" in odd
    noisy = {**form, "name": "noisy", "replicates": "1"}
    assert send(web, "/new", noisy).status_code == 200
    assert Study.load(url, "noisy").settings.replicates
    several = {**noisy, "name": "both", "properties": "yield largest\ncost smallest"}
    assert "replicates" in send(web, "/new", several).text
    made = send(web, "/new", {**form, "direction": "maximize", "n_initial": "5"})
    assert made.status_code == 200
    assert Study.load(url, "circuits").settings.n_initial == 5
    assert send(web, "/new", form).status_code == 409


def test_parts_of_graphs_can_be_required_or_forbidden_for_one_request(url: str, web: Any) -> None:
    form = {"n": "2", "counts": "a 2 2", "apart": "a a", "edges_min": "6"}
    assert send(web, "/studies/one/ask", {**form, "apart": "a"}).status_code == 422
    assert send(web, "/studies/one/ask", {**form, "edges_max": "2"}).status_code == 422
    assert send(web, "/studies/one/ask", form).status_code == 200
    for _ in range(300):
        trials = Study.load(url, "one").trials
        if len(trials) == 2:
            break
        time.sleep(0.1)
    assert len(trials) == 2
    for trial in trials:
        of_a = trial.graph.labels == 0
        assert of_a.sum() == 2
        assert not trial.graph.adjacency[of_a][:, of_a].any()
        assert trial.graph.n_edges >= 6
    page = text_of(web.get(f"/studies/one/trials/{trials[0].id}").text)
    assert "It was requested with additional rules" in page


def test_molecules_can_be_entered_by_form_text_and_drawing(url: str, web: Any) -> None:
    pytest.importorskip("rdkit")
    form = {
        "name": "furans", "kind": "molecules", "elements": "C, N, O", "n_min": "6", "n_max": "8",
        "scaffold": "c1ccoc1", "keep_rings": "1", "forbidden": "O-O\nN-N", "direction": "maximize",
    }  # fmt: skip
    headers = {"x-part": "1", "x-csrf-token": mark(web)}
    bad = web.post("/new/check", data={**form, "required": "C(("}, headers=headers).text
    assert "<strong>Must contain</strong>" in bad
    assert send(web, "/new", form).status_code == 200
    wrong = send(web, "/studies/furans/candidate", {"how": "written", "text": "C1CC"})
    assert wrong.status_code == 422
    send(web, "/studies/furans/candidate", {"how": "written", "text": "Cc1ccco1", "value": "2"})
    # methyl furan again, drawn: hydrogens follow from the bonds
    drawing = (
        '{"nodes": [0, 0, 0, 0, 2, 0], "edges": [[0, 1, 2], [1, 2, 1], [2, 3, 2], [3, 4, 1], '
        "[4, 0, 1], [0, 5, 1]]}"
    )
    send(web, "/studies/furans/candidate", {"how": "drawn", "drawing": drawing, "value": "2.5"})
    study = Study.load(url, "furans")
    assert [study.space.identity(trial.graph) for trial in study.trials] == ["Cc1ccco1"] * 2
    assert web.get("/studies/furans/export/sdf").text.count("$$$$") == 2
    page = web.get("/studies/furans").text
    assert "Cc1ccco1" in page
    asked = send(web, "/studies/furans/ask", {"n": "1", "required": "(("})
    assert asked.status_code == 422


def test_figures_are_made_in_another_process(url: str, web: Any) -> None:
    study = Study.load(url, "one")
    study.add_all([(graph, float(graph.n_edges)) for graph in SPACE.sample(8, seed=2)])
    page = web.get("/studies/one/figures").text
    assert "Best value so far" in page or "<svg" in page
    assert "Predictions of left-out graphs" in text_of(page)


def test_events_announce_changes_from_any_process(url: str) -> None:
    import asyncio

    from bogrape.web.live import Live

    study = Study.load(url, "one")

    async def watch() -> list[str]:
        live = Live(lambda name: (study.revision, name))
        live.start()
        events = live.stream("one")
        found = [await anext(events)]
        # the page may be older than the first look at the study
        found.append(await asyncio.wait_for(anext(events), 10))
        other = Study.load(url, "one")
        await asyncio.to_thread(other.ask)
        found.append(await asyncio.wait_for(anext(events), 10))
        live.tell("one", "job", {"id": "x"})
        found.append(await asyncio.wait_for(anext(events), 10))
        await live.stop()
        found += [event async for event in events]
        return found

    events = asyncio.run(watch())
    assert [event.split("event: ")[1].split("\n")[0] for event in events] == [
        "hello",
        "change",
        "change",
        "job",
    ]


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bogrape.web

    monkeypatch.setitem(bogrape.web.NEEDED, "not_there_at_all", "not-there")
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "x.db")])
    assert done.exit_code == 2
    assert "pip install 'bogrape[web]'" in done.output
    assert not (tmp_path / "x.db").exists()


def test_several_properties_can_be_told_in_parts_and_are_shown_as_a_trade_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    goals = {"strength": "maximize", "cost": "minimize"}
    url = new_study(tmp_path, properties=goals)
    Study.load(url, "one").ask(3)
    api = "/api/studies/one/trials"
    with client(url) as web:
        first = web.post(f"{api}/0/tell", json={"value": {"strength": 2.0}}).json()
        assert (first["state"], first["values"]) == ("complete", {"strength": 2.0})
        assert "value:cost" in web.get("/studies/one/trials/0").text
        assert 'value:strength"' in web.get("/studies/one/trials/1").text
        fields = {"value:strength": "1", "value:cost": "3", "deviation:cost": "0.5"}
        assert send(web, "/studies/one/trials/1/tell", fields).status_code == 200
        assert send(web, "/studies/one/trials/0/tell", {"value:cost": "9"}).status_code == 200
        worse = {"value": {"strength": 0.5, "cost": 4.0}}
        assert web.post(f"{api}/2/tell", json=worse).status_code == 200
        assert web.post(f"{api}/2/tell", json={"value": 1.0}).status_code == 422
        assert web.post(f"{api}/2/tell", json={"value": {"beauty": 1.0}}).status_code == 422
        short = web.get("/api/studies/one").json()
        assert short["properties"] == ["strength", "cost"]
        assert sorted(short["front"]) == [0, 1]
        page = web.get("/studies/one").text
        assert page.count('class="front"') == 2
        assert page.count('class="dot"') == 1
        assert "none of these is beaten in every property" in text_of(page)
        assert "On the front 2 graphs" in text_of(web.get("/").text)
        figures = text_of(web.get("/studies/one/figures").text)
        assert "The trade-off" in figures
        assert "Growth of the Pareto front" in figures
        assert "cost" in web.get("/studies/one/export/csv").text
    trials = Study.load(url, "one").trials
    assert trials[1].noises == {"cost": 0.25}
    assert trials[0].values == {"strength": 2.0, "cost": 9.0}


@pytest.fixture
def wishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A server with a study of two properties and three trials that wait for results."""
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    url = new_study(tmp_path, properties={"strength": "maximize", "cost": "minimize"})
    Study.load(url, "one").ask(3)
    with client(url) as web:
        yield url, web


def test_several_properties_are_pasted_in_their_order(wishes: tuple[str, Any]) -> None:
    url, web = wishes
    bad = send(web, "/studies/one/paste", {"lines": "0 1.5\n1 2 3\n2 - -\n9 1 1"})
    assert bad.status_code == 422
    for words in ("line 1", "trial, strength, cost", "line 3", "trial 9 does not exist"):
        assert words in bad.text
    assert "line 2" not in bad.text
    assert all(trial.state == "pending" for trial in Study.load(url, "one").trials)
    assert send(web, "/studies/one/paste", {"lines": "0 1.5 -\n1 2 3"}).status_code == 200
    # known values may be repeated but not replaced
    assert send(web, "/studies/one/paste", {"lines": "1 2 3\n0 - 4"}).status_code == 200
    again = send(web, "/studies/one/paste", {"lines": "1 2 5"})
    assert "trial 1 already has strength, cost" in html.unescape(again.text)
    trials = Study.load(url, "one").trials
    assert [trial.values for trial in trials] == [
        {"strength": 1.5, "cost": 4.0},
        {"strength": 2.0, "cost": 3.0},
        {},
    ]


def test_a_file_of_several_properties_is_imported(wishes: tuple[str, Any]) -> None:
    url, web = wishes
    graphs = [
        '"' + graph.to_json().replace('"', '""') + '"'
        for graph in SPACE.sample(3, seed=4, distinct=True)
    ]
    rows = [f"{graphs[0]},1.5,3", f"{graphs[1]},2,", f"{graphs[2]},much,1"]
    answer = web.post(
        "/studies/one/upload",
        data={"csrf": mark(web)},
        files={"file": ("data.csv", "\n".join(["graph,strength,cost", *rows]).encode())},
    )
    assert "2 rows can be used" in text_of(answer.text)
    assert "strength 1.5, cost 3" in text_of(answer.text)
    found = re.search(r'name="upload" value="([^"]+)"', answer.text)
    assert found is not None
    assert send(web, "/studies/one/confirm", {"upload": found[1]}).status_code == 200
    added = [trial for trial in Study.load(url, "one").trials if trial.origin == "added"]
    assert [trial.values for trial in added] == [{"strength": 1.5, "cost": 3.0}, {"strength": 2.0}]


def test_a_study_of_several_properties_can_be_created_in_a_form(url: str, web: Any) -> None:
    form = {"name": "both", "kind": "graphs", "n_min": "4", "n_max": "5"}
    headers = {"x-part": "1", "x-csrf-token": mark(web)}
    for wrong in ("yield", "yield most", "yield largest", "a largest\na smallest"):
        shown = web.post("/new/check", data={**form, "properties": wrong}, headers=headers).text
        assert "<strong>Properties</strong>" in shown
    wanted = "yield 2 largest\ncost: smallest"
    assert send(web, "/new", {**form, "properties": wanted}).status_code == 200
    goals = Study.load(url, "both").settings.goals
    assert goals is not None
    assert goals.names == ("yield 2", "cost")
    assert "Pareto front of yield 2 (maximize) and cost (minimize)" in text_of(
        web.get("/studies/both").text
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (-3.2, 17.9), (5.0, 5.0), (1e-300, 2e-300), (-1e308, 1e308), (1e9, 1e9 + 1e-6)],
)
def test_ticks_are_few_and_lie_inside(low: float, high: float) -> None:
    axis = _Axis([low, high], 60.0, 580.0)
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 8
    assert all(60.0 - 1e-6 <= at <= 580.0 + 1e-6 for at, _ in ticks)
    assert len({text for _, text in ticks}) == len(ticks) or high - low <= 1e-5


def test_notebooks_of_several_properties_run(wishes: tuple[str, Any]) -> None:
    url, web = wishes
    send(web, "/studies/one/paste", {"lines": "0 1.5 3\n1 2 4\n2 1 5"})
    notebook = web.get("/studies/one/export/ipynb").json()
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    names: dict[str, Any] = {}
    exec("\n".join(cells[:-1]), names)  # the last one asks for suggestions
    assert [t.values for t in names["study"].trials] == [
        t.values for t in Study.load(url, "one").trials
    ]
    assert "study.pareto_front" in cells
