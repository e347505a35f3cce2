"""Circuits: components are nodes, wires are edges."""

from html import escape
from math import cos, pi, sin

from bogrape import Graph, GraphSpace
from bogrape.domain import Domain, Nouns, TextFormat


def write(circuit: Graph) -> str:
    """The components, then the wires between them: ``battery lamp | 0-1``."""
    components = " ".join(circuit.label_names[label] for label in circuit.labels)
    wires = " ".join(f"{u}-{v}" for u, v in circuit.edges())
    return f"{components} | {wires}"


def read(netlist: str, space: GraphSpace) -> Graph:
    """What `write` wrote."""
    components, wires = netlist.split("|")
    labels = [space.label_names.index(name) for name in components.split()]
    matrix = [[0] * len(labels) for _ in labels]
    for wire in wires.split():
        u, v = map(int, wire.split("-"))
        matrix[u][v] = matrix[v][u] = 1
    return Graph(matrix, labels)


def draw(circuit: Graph, width: int) -> str:
    """Components as boxes on a circle."""
    n = circuit.n_nodes
    x = [round(50 + 36 * cos(2 * pi * v / n)) for v in range(n)]
    y = [round(50 + 36 * sin(2 * pi * v / n)) for v in range(n)]
    wires = "".join(f"M{x[u]} {y[u]}L{x[v]} {y[v]}" for u, v in circuit.edges())
    boxes = "".join(
        f'<rect x="{x[v] - 12}" y="{y[v] - 6}" width="24" height="12" fill="#fff" stroke="#000"/>'
        f'<text x="{x[v]}" y="{y[v] + 2}">{escape(circuit.label_names[circuit.labels[v]])}</text>'
        for v in range(n)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 100 100">'
        f'<path d="{wires}" stroke="#000"/><g font-size="6" text-anchor="middle">{boxes}</g></svg>'
    )


CIRCUITS = Domain(
    name="circuits:CIRCUITS",  # module and name: how a stored study finds the domain again
    nouns=Nouns(
        graph="circuit",
        graphs="circuits",
        node="component",
        nodes="components",
        edge="wire",
        edges="wires",
    ),
    label_names=("battery", "lamp", "switch"),
    draw=draw,
    text=TextFormat(name="netlist", write=write, read=read),
)


def price(netlist: str) -> float:
    """What a circuit costs: one per wire, five per switch."""
    return netlist.count("-") + 5.0 * netlist.count("switch")
