"""Domains: nouns, names of labels, drawing and text of the graphs of a space."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

from bogrape import Graph, GraphGP, GraphSpace, Study, constraints, propose
from bogrape import domain as domains
from bogrape.cli import main
from bogrape.domain import Domain, Nouns, TextFormat, find_domain
from bogrape.errors import InvalidGraphError, InvalidInputError, InvalidSpaceError
from bogrape.evaluate import make_evaluator
from bogrape.report import report_html
from bogrape.report.embedded import embedded_svg
from bogrape.report.notebook import notebook_html
from places import ROOT

from strategies import any_graphs

EXAMPLE = ROOT / "examples" / "circuits"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><text>{}</text></svg>'


def plain_svg(graph: Graph, width: int) -> str:
    return SVG.format(f"{graph.n_nodes} at {width}")


def broken(*_: object) -> Any:
    raise RuntimeError("no <ink> left")


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Domain]:
    """The known domains; those made in a test are forgotten after it."""
    known: dict[str, Domain] = dict(domains._known)
    monkeypatch.setattr(domains, "_known", known)
    return known


@pytest.fixture
def tiles(known: dict[str, Domain]) -> Domain:  # noqa: ARG001
    return Domain(
        name="tiling:TILES",
        nouns=Nouns(graph="floor", graphs="floors", node="tile", nodes="tiles"),
        label_names=("red", "blue", "<b>"),
        draw=plain_svg,
        text=TextFormat(name="mosaic", write=Graph.to_json, read=lambda t, _: Graph.from_json(t)),
    )


def a_study(space: GraphSpace, n: int = 4) -> Study:
    study = Study(space, n_initial=3, time_limit=2.0, seed=0)
    for graph in space.sample(n, seed=1, distinct=True):
        study.add(graph, float(graph.n_edges))
    return study


# -- parts of a domain ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"name": "tiles"}, "'package.module:name'"),
        ({"name": "a b:c"}, "'package.module:name'"),
        ({"name": "a:b", "nouns": "tile"}, "Nouns"),
        ({"name": "a:b", "label_names": "red"}, "label_names"),
        ({"name": "a:b", "label_names": [1]}, "label_names"),
        ({"name": "a:b", "draw": "svg"}, "draw"),
        ({"name": "a:b", "text": "json"}, "TextFormat"),
    ],
)
def test_an_invalid_domain_is_refused_with_the_reason(
    parts: dict[str, Any], reason: str, known: dict[str, Domain]
) -> None:
    before = dict(known)
    with pytest.raises(InvalidInputError, match=reason):
        Domain(**parts)
    assert known == before


def test_nouns_and_formats_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="noun nodes"):
        Nouns(nodes="")
    with pytest.raises(InvalidInputError, match="to be a word"):
        TextFormat(name="two words", write=Graph.to_json, read=lambda t, _: Graph.from_json(t))
    with pytest.raises(InvalidInputError, match="read of 'x'"):
        TextFormat(name="x", write=Graph.to_json, read=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.at.all:TILES", "there is no module 'nowhere'"),
        ("math:TILES", "'math' has no 'TILES'"),
        ("__main__:TILES", "to a module of its own"),
        ("math:pi", "a float"),
        ("circuits", "package.module:name"),
        ("bogrape.molecules.domain:MOLECULES", "found 'molecules' there"),
    ],
)
def test_a_domain_that_cannot_be_found_is_explained_in_one_line(name: str, reason: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        find_domain(name)
    assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_module_that_raises_when_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad_domain.py").write_text("raise OSError('no licence')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidInputError, match="bad_domain' raised OSError: no licence"):
        find_domain("bad_domain:X")


# -- spaces -----------------------------------------------------------------------------------


def test_a_space_takes_a_domain_or_its_name_and_keeps_it_when_stored(tiles: Domain) -> None:
    space = GraphSpace(3, labels=("red", "blue"), domain=tiles)
    assert GraphSpace(3, labels=("red", "blue"), domain="tiling:TILES").domain is tiles  # type: ignore[arg-type]
    read = GraphSpace.from_json(space.to_json())
    assert read.domain is tiles
    assert read == space
    assert space.with_rules([constraints.NumberOfEdges(2)]).domain is tiles
    assert space.describe().startswith("Connected undirected floors with 3 tiles")
    with pytest.raises(InvalidSpaceError, match="domain to be a Domain"):
        GraphSpace(3, domain=7)  # type: ignore[arg-type]


def test_labels_that_the_domain_does_not_know_are_refused(tiles: Domain) -> None:
    with pytest.raises(InvalidSpaceError, match=r"red, blue, <b>\), got 'rde'"):
        GraphSpace(3, labels=("rde", "blue"), domain=tiles)


def test_a_domain_does_not_change_a_space_and_may_be_added_to_a_study_later(tiles: Domain) -> None:
    plain = GraphSpace(3, labels=("red", "blue"))
    told = GraphSpace(3, labels=("red", "blue"), domain=tiles)
    assert plain == told
    assert [g.canonical_key() for g in plain.enumerate()] == [
        g.canonical_key() for g in told.enumerate()
    ]
    study = Study(plain, n_initial=2, seed=3)
    study.adopt(replace(study.settings, space=told))
    assert study.space.domain is tiles


def test_a_space_is_pickled_without_the_functions_of_its_domain(tiles: Domain) -> None:
    space = GraphSpace(3, labels=("red", "blue"), domain=tiles)
    sent = pickle.dumps(space)  # although the domain has a lambda
    assert pickle.loads(sent).domain is tiles
    del domains._known[tiles.name]  # as in another process
    arrived = pickle.loads(sent)
    assert arrived.domain == tiles
    assert arrived.nouns == tiles.nouns
    graph = arrived.sample(1)[0]
    with pytest.raises(InvalidInputError, match="there is no module 'tiling'"):
        arrived.domain.draw(graph, 10)
    domains._known[tiles.name] = tiles
    assert arrived.domain.draw(graph, 10) == plain_svg(graph, 10)
    assert arrived.domain.text.read(graph.to_json(), arrived) == graph


# -- names of labels --------------------------------------------------------------------------


@given(any_graphs())
@settings(max_examples=60)
def test_names_do_not_change_a_graph_and_survive_every_conversion(graph: Graph) -> None:
    names = [f"kind {i}" for i in range(int(graph.labels.max()) + 2)]
    named = graph.with_names(names, "tiling:TILES")
    assert named == graph
    assert hash(named) == hash(graph)
    assert named.canonical_key() == graph.canonical_key()
    assert named.to_json() == graph.to_json()
    assert graph.label_names is None
    order = list(range(graph.n_nodes))[::-1]
    for same in (
        pickle.loads(pickle.dumps(named)),
        Graph.from_json(named.to_json(names=True)),
        Graph.from_networkx(named.to_networkx()),
        named.permuted(order).permuted(order),
    ):
        assert same == graph
        assert same.label_names == tuple(names)
        assert same.domain == "tiling:TILES"
    assert named.canonical().label_names == tuple(names)
    assert Graph.from_json(named.to_json()).label_names is None


def test_names_survive_files_of_networkx(tmp_path: Path) -> None:
    graph = Graph([[0, 1], [1, 0]], labels=[0, 1]).with_names(["C", "O"], "molecules")
    nx.write_graphml(graph.to_networkx(), tmp_path / "graph.xml")
    read = Graph.from_networkx(nx.read_graphml(tmp_path / "graph.xml"))
    assert (read.label_names, read.domain) == (("C", "O"), "molecules")


@pytest.mark.parametrize("text", [7, "[]", "{", '{"label_names": ["C"]}', '{"x": 1}'])
def test_invalid_names_are_refused(text: object) -> None:
    graph = nx.Graph([(0, 1)], bogrape_names=text)
    nx.set_node_attributes(graph, {0: 0, 1: 1}, "label")
    with pytest.raises(InvalidGraphError, match="names"):
        Graph.from_networkx(graph)


@pytest.mark.parametrize("method", ["exact", "search", "sample", "evolve", "mip"])
def test_graphs_of_a_space_have_the_names_of_their_labels(method: Any, tiles: Domain) -> None:
    space = GraphSpace(4, labels=("red", "blue"), domain=tiles)
    found = [*space.sample(3), *space.enumerate(limit=3)]
    gp = GraphGP("sp", n_labels=2).fit(found[:3], [1.0, 2.0, 1.5])
    found.append(propose(space, gp, method=method, time_limit=10.0).graph)
    found.append(space.from_networkx(space.to_networkx(found[0])))
    for graph in found:
        assert (graph.label_names, graph.domain) == (("red", "blue"), "tiling:TILES")


def test_trials_have_the_names_even_after_storage(tiles: Domain, tmp_path: Path) -> None:
    space = GraphSpace(3, labels=("red", "blue"), domain=tiles)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study(space, storage=url, n_initial=2, seed=0)
    asked = study.ask()
    assert asked.graph.label_names == ("red", "blue")
    study.add(Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]), 1.0)
    read = Study.load(url)
    assert read.space.domain is tiles
    assert {t.graph.label_names for t in read.trials} == {("red", "blue")}
    assert {g.domain for g in read.dataset.graphs} == {"tiling:TILES"}


def names_of(graph: Graph) -> float:
    assert graph.label_names == ("red", "blue")
    return 1.0


@pytest.mark.parametrize("executor", ["inline", "process", ThreadPoolExecutor(1)])
def test_an_objective_gets_graphs_with_names_wherever_it_runs(executor: Any) -> None:
    graph = GraphSpace(3, labels=("red", "blue")).sample(1)[0]
    evaluator = make_evaluator(names_of, executor)
    evaluator.submit(0, graph)
    ((_, outcome),) = evaluator.wait(60)
    evaluator.close()
    assert outcome.value == 1.0, outcome.reason


def test_a_graph_with_other_names_of_labels_is_not_learnt_from() -> None:
    space = GraphSpace(2, labels=("red", "blue"))
    other = GraphSpace(2, labels=("red", "green")).named(Graph([[0, 1], [1, 0]], labels=[0, 1]))
    with pytest.raises(InvalidInputError, match="a label called 'blue', got 'green'"):
        Study(space).add(other, 1.0)
    both_red = other.with_names(("red", "green")).permuted([0, 1])
    Study(space).add(Graph([[0, 1], [1, 0]]).with_names(both_red.label_names), 1.0)


# -- rules in words ---------------------------------------------------------------------------


def test_every_built_in_rule_describes_itself_in_words() -> None:
    kinds = list(constraints.RULES.values())
    kinds += list(pytest.importorskip("bogrape.molecules").RULES.values())
    assert [k for k in kinds if k.describe is constraints.Rule.describe] == []


def test_rules_use_the_nouns_of_the_space(tiles: Domain) -> None:
    rules = [
        constraints.NumberOfEdges(maximum=1),
        constraints.DegreeRange(2, 2, label="red"),
        constraints.LinearRule(edges={(0, 1): -2.5}, minimum=-1, maximum=4),
        constraints.DegreeRange(1, None, node=0, label="blue"),
    ]
    space = GraphSpace((2, 3), labels=("red", "blue"), connected=False, rules=rules, domain=tiles)
    assert [rule.describe(space.nouns) for rule in space.rules] == [
        "Every floor has at most 1 edge.",
        "Every tile labelled red has exactly 2 edges.",
        "A weighted sum of 1 edges is -1 to 4.",
        "Tile 0, if labelled blue, has at least 1 edge.",
    ]


def test_contradictions_are_described_in_words_too(tiles: Domain) -> None:
    rules = [constraints.NumberOfEdges(maximum=2), constraints.NumberOfEdges(minimum=4)]
    with pytest.raises(InvalidSpaceError, match="Every floor has at most 2 edges"):
        GraphSpace(4, rules=rules, domain=tiles)


def test_the_error_for_an_unknown_rule_lists_those_of_its_package() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    with pytest.raises(InvalidSpaceError) as caught:
        constraints.rule_from_dict({"rule": "molecules.SmalestRing", "minimum": 5})
    assert ", ".join(f"molecules.{name}" for name in molecules.RULES) in str(caught.value)
    for name in ("nothing.SmallestRing", "SmallestRing", 5):
        with pytest.raises(InvalidSpaceError, match="try one of NumberOfEdges, DegreeRange"):
            constraints.rule_from_dict({"rule": name})


# -- reports ----------------------------------------------------------------------------------


def test_a_report_uses_the_nouns_of_the_domain(tiles: Domain) -> None:
    study = a_study(GraphSpace(4, labels=("red", "<b>"), domain=tiles))
    page = report_html(study)
    ET.fromstring(page.split("\n", 1)[1])  # all of it is well-formed
    assert "Looking for the smallest value among connected floors with 4 tiles." in page
    assert "<h2>Best floor (trial" in page
    assert ">mosaic</button>" in page
    assert 'alt="floor with 4 tiles and ' in page
    assert "<b>" not in page
    assert "plain graphs" not in page


def test_texts_of_a_domain_are_escaped(known: dict[str, Domain]) -> None:  # noqa: ARG001
    evil = "<script>alert(1)</script>"
    loud = Domain(
        name="evil:EVIL",
        nouns=Nouns(graph=evil, graphs=evil, node=evil, nodes=evil, edge=evil, edges=evil),
        label_names=(evil, "'\"&"),
        edge_label_names=(evil, evil),
        draw=lambda *_: SVG.format("") + evil,
        text=TextFormat(name="x", write=lambda _: evil, read=broken),
    )
    study = a_study(GraphSpace(3, labels=(evil, "'\"&"), edge_labels=2, domain=loud))
    page = report_html(study)
    ET.fromstring(page.split("\n", 1)[1])
    shown = [page, *(notebook_html(thing) or "" for thing in (study, study.trials[0]))]
    shown.append(study.trials[0].graph._repr_html_() or "")
    for html in shown:
        assert evil not in html.replace(page[page.rindex("<script>") :], "")
        assert "Drawn as plain graphs, because the drawing failed" in html


def test_scripts_in_a_drawing_are_part_of_an_image() -> None:
    inner = SVG.format("x").replace("<text>", "<script>alert(1)</script><text onclick='f()'>")
    made = ET.fromstring(embedded_svg(f"<?xml version='1.0' encoding='latin-1'?>{inner}", 60, "<"))
    assert made.tag == "img"
    assert unquote(made.get("src", "").removeprefix("data:image/svg+xml,")) == inner
    assert (made.get("width"), made.get("height"), made.get("alt")) == ("60", "30", "<")
    assert len(made) == 0


@pytest.mark.parametrize(
    "text", [None, b"<svg/>", "", "<svg/>", "<svg", SVG + SVG, f"<!DOCTYPE svg []>{SVG}", "<p/>"]
)
def test_invalid_drawings_are_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"expected an? "):
        embedded_svg(text, 60, "")


def test_a_domain_whose_parts_fail_gives_plain_drawings_and_a_note(
    known: dict[str, Domain],  # noqa: ARG001
) -> None:
    sad = Domain(
        name="sad:SAD",
        draw=broken,
        text=TextFormat(name="tune", write=broken, read=broken),
    )
    study = a_study(GraphSpace(4, labels=("red", "blue"), domain=sad))
    page = report_html(study)
    ET.fromstring(page.split("\n", 1)[1])
    assert "Drawn as plain graphs, because the drawing failed: RuntimeError: no &lt;ink&gt;" in page
    assert "Without tune, which could not be written: RuntimeError" in page
    assert "<svg" in page
    assert "data:image/svg" not in page
    lone = study.trials[0].graph._repr_html_()
    assert lone is not None
    assert "the drawing failed: RuntimeError: no &lt;ink&gt; left (1 time)." in lone


def test_a_graph_alone_is_drawn_by_its_domain(tiles: Domain) -> None:
    graph = GraphSpace(3, labels=("red", "blue"), domain=tiles).sample(1)[0]
    assert "data:image/svg" in (graph._repr_html_() or "")
    assert "data:image/svg" not in (graph.with_names(("red", "blue"))._repr_html_() or "")
    lost = graph.with_names(("red", "blue"), "nowhere:TILES")._repr_html_() or ""
    assert "there is no module &#x27;nowhere&#x27;" in lost
    assert "<svg" in lost


# -- molecules --------------------------------------------------------------------------------


def test_to_smiles_needs_no_second_argument_for_graphs_of_any_space(tmp_path: Path) -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    Chem = pytest.importorskip("rdkit.Chem")
    for elements in ("qm9", ("Cl", "C"), ("S", "O", "C")):
        space = molecules.molecule_space(elements, n_atoms=3)
        for graph in space.sample(10, seed=1):
            mol = Chem.RWMol()  # an independent way: atoms and bonds by name
            for label in graph.labels.tolist():
                mol.AddAtom(Chem.Atom(space.label_names[label]))
            for u, v in graph.edges():
                mol.AddBond(u, v, Chem.BondType.values[int(graph.edge_labels[u, v])])
            Chem.SanitizeMol(mol)
            assert molecules.to_smiles(graph) == Chem.MolToSmiles(mol)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    Study(space, storage=url, n_initial=2).ask()
    trial = Study.load(url).trials[0]
    assert molecules.to_smiles(trial.graph) == space.identity(trial.graph)


def test_an_oracle_refuses_molecules_of_another_data_set() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    oracle = molecules.load_oracle("qm7")
    graph = molecules.from_smiles("CO", "qm7")
    assert oracle(graph) == oracle(graph.with_names())
    assert oracle(graph) == oracle(graph.with_names(("C", "N", "O")))
    with pytest.raises(InvalidInputError, match="labels stand for C, N, O, F"):
        oracle(molecules.from_smiles("CO", "qm9"))


def test_a_graph_with_other_element_names_is_refused() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    graph = molecules.from_smiles("CCl", ("C", "Cl"))
    assert molecules.to_smiles(graph) == "CCl"
    with pytest.raises(InvalidGraphError, match="label 1 to be F, got a graph that calls it Cl"):
        molecules.to_smiles(graph, ("C", "F"))


OLD = (  # a space as studies stored it before there were domains
    '{"n_nodes":3,"labels":["C","N","O","F"],"features":11,"directed":false,"connected":true,'
    '"rules":[{"rule":"molecules.Valence","valences":[4,3,2,1]}],"edge_labels":3}'
)


def test_spaces_of_molecules_stored_before_there_were_domains_get_theirs() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    space = molecules.molecule_space("qm9", n_atoms=3, bounds=False)
    assert space.to_json() == OLD
    assert GraphSpace.from_json(OLD).domain == molecules.MOLECULES
    bare = GraphSpace(3, labels=("x", "y"), features=11, edge_labels=3)
    assert bare.with_rules([molecules.Valence([4, 3])]).domain is None  # no elements
    only = space.with_rules([])
    assert GraphSpace.from_json(only.to_json()).domain == molecules.MOLECULES


# -- the example of the documents, and the command line ---------------------------------------


def call(*words: object) -> str:
    done = CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_page_shows_the_files_of_the_example() -> None:
    page = (ROOT / "docs" / "extending" / "own-domain.md").read_text(encoding="utf-8")
    for name, language in (("circuits.py", "python"), ("study.toml", "toml")):
        code = (EXAMPLE / name).read_text(encoding="utf-8")
        assert f"```{language}\n{code}```" in page


def test_the_command_line_uses_the_text_format_of_a_domain(
    tmp_path: Path, known: dict[str, Domain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "circuits", raising=False)
    known.pop("circuits:CIRCUITS", None)
    folder = tmp_path / "circuits"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.db"))
    study = folder / "study.toml"
    assert "best circuit battery " in call("run", study, "--quiet")
    table = tmp_path / "trials.csv"
    call("export", study, table)
    assert "battery" in table.read_text(encoding="utf-8")
    (trial,) = [json.loads(line) for line in call("ask", study, "--json").splitlines()]
    assert trial["graph"].count("battery") == 1
    assert "added 5 observations" in call("import", study, table)
    more = tmp_path / "more.csv"
    more.write_text("netlist,value\nbattery lamp | 0-1,1\nbattery |,x\n", encoding="utf-8")
    seen = json.loads(call("import", study, more, "--preview", "--json"))
    assert [row["graph"] for row in seen] == ["battery lamp | 0-1", None]
    page = tmp_path / "page.html"
    call("report", study, "-o", page)
    assert "connected circuits with 4 components" in page.read_text(encoding="utf-8")
    done = subprocess.run(  # from the database alone, in the folder of the module
        [sys.executable, "-m", "bogrape", "report", "study.db", "-o", "alone.html"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Best circuit" in (folder / "alone.html").read_text(encoding="utf-8")
    bad = CliRunner().invoke(main, ["import", str(study), str(_row(tmp_path)), "--preview"])
    assert "cannot read this circuit: ValueError" in bad.output


def _row(folder: Path) -> Path:
    path = folder / "bad.csv"
    path.write_text("netlist,value\nno bar,1\n", encoding="utf-8")
    return path


def test_a_format_that_the_space_does_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text("[space]\nn_nodes = 3\n[objective]\nformat = 'smiles'\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["status", str(path)])
    assert done.exit_code == 2
    assert "format must be 'json', got 'smiles'" in done.output


def test_a_database_whose_domain_cannot_be_imported_says_so_in_one_line(
    tiles: Domain, tmp_path: Path
) -> None:
    space = GraphSpace(3, labels=("red", "blue"), domain=tiles)
    Study(space, storage=f"sqlite:///{tmp_path / 'study.db'}", n_initial=2).ask()
    done = subprocess.run(
        [sys.executable, "-m", "bogrape", "report", "study.db"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: the domain 'tiling:TILES' cannot be loaded: there is no ")
    assert len(done.stderr.strip().splitlines()) == 1
