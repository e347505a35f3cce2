"""Write the page that lists all rules: python examples/rules_page.py docs

The text comes from the docstrings of the rules, the pictures show a graph that an example allows
and one that it does not. A test checks that the page in docs/ is the one this script writes.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from dataclasses import MISSING, dataclass, fields
from math import cos, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import bogrape.constraints
from bogrape import Graph, GraphSpace
from bogrape.constraints import RULES, Rule
from bogrape.report.picture import Look, graph_svg

NAMES = "abcde"
FOLDER = "rules"  # of the pictures, beside the page

INTRODUCTION = """\
# Rules

All rules for a `GraphSpace`, each with an example and two graphs: the left one is in the
space of the example, the right one is not. `examples/rules_page.py` writes this page from
the docstrings of the rules; reports describe a rule by the sentence below its example.

A rule refers to a node by its name in a space with `nodes=[...]`, or by its number. **In a space
without names all numberings of a graph are the same graph**, so `RequiredEdge(0, 1)` alone
only means "there is an edge". To refer to a particular cable, name the nodes:

```python
from bogrape import GraphSpace
from bogrape.constraints import RequiredEdge

sites = {"core-1": "router", "core-2": "router", "desk": "switch"}
space = GraphSpace(nodes=list(sites), labels=sites, rules=[RequiredEdge("core-1", "desk")])
assert all(space.to_networkx(graph).has_edge("core-1", "desk") for graph in space.enumerate())
```

Kernels see the labels of nodes, not their names, and of all [kernels](kernels.md) only `rbf` sees
edge labels: two graphs that differ in nothing else get the same prediction. If it matters which
of two sites has a cable, give them different labels.

If a graph is too small to have a node that a rule refers to, rules that require or fix
something are violated, and rules that forbid or bound something are satisfied.

You can also [write your own rules](extending/own-rule.md).

In study files (`bogrape init`) a rule is a table:

```toml
[[space.rules]]
rule = "DegreeRange"
maximum = 4
node = "core-1"
```
"""


@dataclass(frozen=True)
class Example:
    """A space under one rule, and two graphs as edges: ``ab`` joins a and b, ``ab2`` by a label."""

    rule: str
    allowed: str
    refused: str
    space: str = "5"
    labels: str = "CCCCC"
    refused_labels: str = ""  # those of the second graph, where they differ

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.partition("(")[0]

    @property
    def code(self) -> str:
        """The example as code."""
        return f"space = GraphSpace({self.space}, rules=[{self.rule}])"

    def make_space(self) -> GraphSpace:
        """The space of the example."""
        scope = {"GraphSpace": GraphSpace, **vars(bogrape.constraints)}
        exec(self.code, scope)
        return scope["space"]

    def graphs(self) -> tuple[Graph, Graph]:
        """The graph in the space and the one that is not."""
        labels = self.refused_labels or self.labels
        return self._graph(self.allowed, self.labels), self._graph(self.refused, labels)

    def _graph(self, edges: str, labels: str) -> Graph:
        space = self.make_space()
        matrix = np.zeros((5, 5), dtype=int)
        for edge in edges.split():
            u, v, label = NAMES.index(edge[0]), NAMES.index(edge[1]), int(edge[2:] or 1)
            matrix[u, v] = label
            if not space.directed:
                matrix[v, u] = label
        alphabet = space.label_names or "C"
        return Graph(
            matrix > 0,
            [alphabet.index(label) for label in labels],
            directed=space.directed,
            edge_labels=matrix if space.n_edge_labels else None,
        )

    def picture(self) -> str:
        """Both graphs side by side as SVG."""
        look = Look.of(self.make_space())
        angles = [pi / 2 - 2 * pi * v / 5 for v in range(5)]
        xy = np.array([(1.6 * cos(angle), 1.6 * sin(angle)) for angle in angles])
        return side_by_side([graph_svg(graph, look, size=180, xy=xy) for graph in self.graphs()])


@dataclass(frozen=True)
class Molecule:
    """A space of molecules under one rule, and a SMILES in it and one that is not."""

    rule: str
    allowed: str
    refused: str | None
    labels: str = '"qm7"'

    @property
    def name(self) -> str:
        """The name of the rule."""
        return "Scaffold" if self.rule.startswith("scaffold") else self.rule.partition("(")[0]

    @property
    def code(self) -> str:
        """The example as code."""
        rules = "" if self.name.endswith("Valence") else f", rules=[{self.rule}]"
        kind = ", aromatic=True" if self.name == "AromaticValence" else ""
        return f"space = molecule_space({self.labels}, n_atoms=(3, 8){rules}, bounds=False{kind})"

    def make_space(self) -> GraphSpace:
        """The space of the example."""
        import bogrape.molecules

        scope = dict(vars(bogrape.molecules))
        exec(self.code, scope)
        return scope["space"]

    def picture(self) -> str:
        """The molecules side by side as SVG."""
        from bogrape.molecules import draw

        shown = [self.allowed] if self.refused is None else [self.allowed, self.refused]
        with TemporaryDirectory() as folder:
            picture = draw(shown, Path(folder) / "molecules.svg", columns=2, size=180)
        return picture.decode()


def side_by_side(pictures: list[str]) -> str:
    """Pictures of 180 pixels' width in a row, on white."""
    inner = "".join(
        svg.replace("<svg ", f'<svg x="{10 + 200 * i}" y="5" ', 1) for i, svg in enumerate(pictures)
    )
    width = 200 * len(pictures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="165" '
        f'viewBox="0 0 {width} 165"><rect width="{width}" height="165" fill="#fff"/>{inner}</svg>\n'
    )


NAMED = 'nodes=["a", "b", "c", "d", "e"]'
CARBON = 'labels=("C", "O")'
EXAMPLES = (
    Example("NumberOfEdges(maximum=5)", "ab bc cd de ea", "ab bc cd de ea ac"),
    Example(
        'DegreeRange(maximum=2, label="O")',
        "ab bc cd de bd",
        "ab bc cd de ac",
        f"5, {CARBON}",
        "CCOCC",
    ),
    Example(
        'LabelCount("O", maximum=1)',
        "ab bc cd de",
        "ab bc cd de",
        f"5, {CARBON}",
        "CCOCC",
        "OCOCC",
    ),
    Example(
        'FixedLabel("a", "O")',
        "ab bc cd de",
        "ab bc cd de",
        f"{NAMED}, {CARBON}",
        "OCCOC",
        "COCOC",
    ),
    Example('RequiredEdge("a", "c")', "ab ac cd de", "ab bc cd de", NAMED),
    Example('ForbiddenEdge("a", "c")', "ab bc cd de", "ab ac cd de", NAMED),
    Example(
        'ForbiddenAdjacency("O", "O")', "ab bc cd de", "ab bc cd de bd", f"5, {CARBON}", "COCOC"
    ),
    Example(
        'RequiredSubgraph([("a", "b"), ("b", "c"), ("a", "c")])',
        "ab bc ac cd de",
        "ab bc cd de ea",
        NAMED,
    ),
    Example("DiameterRange(maximum=2)", "ab bc cd de ea", "ab bc cd de"),
    Example("CycleRange(maximum=1)", "ab bc cd de ea", "ab bc cd de ea ac"),
    Example("Acyclic()", "ab bc cd ae ed", "ab bc cd de ea", "5, directed=True"),
    Example(
        'LinearRule(edges={("a", "b"): 2, ("b", "c"): 3.5}, maximum=4)',
        "ab cd de ac",
        "ab bc cd de",
        NAMED,
    ),
    Example(
        "TotalCost(edge_labels={1: 1, 2: 2.5}, maximum=8)",
        "ab bc2 cd de",
        "ab bc2 cd2 de2",
        "5, edge_labels=2",
    ),
    Example("TwoConnected()", "ab bc cd de ea", "ab bc ca cd de ec"),
    Example('DisjointPaths("a", "d", minimum=2)', "ab bc cd de ea", "ab bc ca cd de", NAMED),
    Example('MaximumDistance("a", "d", maximum=2)', "ab bc cd de ea", "ab bc cd de", NAMED),
    Example(
        'EditDistance({"n_nodes": 5, "edges": [[0, 1], [1, 2], [2, 3], [3, 4]]}, maximum=1)',
        "ab bc cd de ea",
        "ab bc cd de ea ac",
    ),
)
MOLECULES = (
    Molecule("Valence()", "CC(=O)N", None),
    Molecule("AromaticValence()", "Cc1ccncc1", None),
    Molecule("BondCount(2, maximum=1)", "C=CCO", "C=CC=O"),
    Molecule('DataSetBounds("qm7")', "CCCN", "NCCN"),
    Molecule("HeteroatomCount(maximum=1)", "CCCO", "OCCO"),
    Molecule("NoAdjacentHeteroatoms()", "OCCN", "CCON"),
    Molecule("MolecularWeight(maximum=70)", "CCCO", "CCCCO"),
    Molecule('scaffold("*C1CC1")', "C1(CC1)CO", "C1CCC1"),
    Molecule('RequiredSubstructure("C=O")', "CC=O", "CCO"),
    Molecule('ForbiddenSubstructure("O-O")', "OCCO", "COOC"),
    Molecule("SmallestRing(minimum=5)", "C1CCCC1", "C1CC1C"),
    Molecule("LargestRing(maximum=5)", "C1CCCC1", "C1CCCCC1"),
    Molecule("NetCharge()", "C[N+](=O)[O-]", "CC(=O)[O-]", '("C", "O", "N+", "O-")'),
    Molecule('Property("log_p", maximum=1)', "OCCO", "CCCCC"),
    Molecule('StructuralAlerts("BRENK")', "CCC(N)=O", "COOC"),
)


def meaning(rule: type[Rule]) -> str:
    """The docstring of a rule as Markdown, without its doctests."""
    text = inspect.getdoc(rule) or ""
    text = text.split(">>>")[0].replace("``", "`").strip()
    before, _, after = text.partition("Args:\n")
    arguments, _, rest = after.partition("\n\n")
    bullets = re.sub(r"(?m)^    ([\w, ]+): ", r"- `\1`: ", arguments)
    bullets = re.sub(r"(?m)^        ", "  ", bullets)
    return "\n\n".join(
        part.strip("\n") for part in (before, bullets, textwrap.dedent(rest)) if part
    )


def signature(rule: type[Rule]) -> str:
    """The rule with its parameters and their defaults."""
    shown = []
    for field in fields(rule):  # type: ignore[arg-type]
        if not field.compare:  # set by the space
            continue
        default = "" if field.default is MISSING else f"={field.default!r}"
        shown.append(f"{field.name}{default}")
    return f"{rule.__name__}({', '.join(shown)})"


def entry(example: Example | Molecule, rule: type[Rule]) -> str:
    """One rule on the page."""
    words = f"allowed and not allowed by {example.rule}".replace('"', "'")
    picture = f'<img src="{FOLDER}/{example.name}.svg" alt="{words}">'
    if isinstance(example, Molecule):
        graphs = f"`{example.allowed}` is in the space"
        graphs += "." if example.refused is None else f", `{example.refused}` is not."
        picture = f"{picture}\n\n{graphs}"
    return (
        f"### {example.name}\n\n`{signature(rule)}`\n\n{meaning(rule)}\n\n"
        f"```python\n{wrapped(example.code)}\n```\n\n{in_words(example, rule)}\n\n{picture}\n"
    )


def in_words(example: Example | Molecule, rule: type[Rule]) -> str:
    """What the rule of the example says in reports and messages."""
    space = example.make_space()
    said = next(found.describe(space.nouns) for found in space.rules if type(found) is rule)
    return f"In words: {said}"


def wrapped(code: str) -> str:
    """A call in one line if it fits, else with its rules in a line of their own."""
    if len(code) <= 100:
        return code
    before, _, rules = code.partition(", rules=")
    return f"{before.replace('(', '(' + chr(10) + '    ', 1)},\n    rules={rules[:-1]},\n)"


def page() -> str:
    """The whole page."""
    from bogrape.molecules import RULES as OF_MOLECULES

    parts = [INTRODUCTION, "## Rules for all graphs\n"]
    names = ",\n    ".join(sorted(RULES))
    parts.append(f"```python\nfrom bogrape.constraints import (\n    {names},\n)\n```\n")
    parts += [entry(example, RULES[example.name]) for example in EXAMPLES]
    names = ",\n    ".join(
        sorted(
            (set(OF_MOLECULES) - {"Valence", "AromaticValence", "Scaffold"})
            | {"molecule_space", "scaffold"}
        )
    )
    parts.append(
        "## Rules for molecules\n\nThese need `pip install 'bogrape[molecules]'`; see "
        "[molecules](molecules.md). In study files their names begin with `molecules.`, as in\n"
        '`rule = "molecules.SmallestRing"`.\n\n'
        f"```python\nfrom bogrape.molecules import (\n    {names},\n)\n```\n"
    )
    parts += [entry(example, OF_MOLECULES[example.name]) for example in MOLECULES]
    return "\n".join(parts)


def main(docs: Path) -> None:
    """Write the page and its pictures."""
    (docs / FOLDER).mkdir(exist_ok=True)
    (docs / "rules.md").write_text(page(), encoding="utf-8")
    for example in (*EXAMPLES, *MOLECULES):
        (docs / FOLDER / f"{example.name}.svg").write_text(example.picture(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
