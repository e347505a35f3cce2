"""The whole acquisition problem as one `Program`: paths, attributes, rules, counts, posterior."""

from __future__ import annotations

import math
import time
from itertools import permutations

from ...acquisition import LCB
from ...errors import UnsupportedError
from ...graph import Graph
from ...space import GraphSpace
from ..criterion import Criterion
from .attributes import Attributes, WeakConnectivity
from .counting import Distances, LabelledPaths, coordinates
from .options import MipOptions
from .paths import Paths, mip_sp, mip_sp_plus, reachability
from .posterior import FunctionForm, WeightForm, encodable
from .program import Point, Program
from .rules import Rules, Symmetry, forbid
from .scaled import Scaled


class OutOfTime(Exception):
    """The program is so large that building it takes longer than the time limit."""


def encode_paths(program: Program, objective: Criterion, options: MipOptions) -> Paths:
    """The path encoding that fits the space.

    If every pair of nodes has a path, MIP-SP for one size and MIP-SP-plus for several; otherwise,
    as in disconnected graphs and in weakly connected or acyclic digraphs, the reachability
    extension.
    """
    space = objective.space
    shape = {"directed": space.directed, "tight": options.tight}
    everywhere = space.connected == "strong" or (not space.directed and space.connected is True)
    if not everywhere:
        return reachability(program, space.n_min, space.n_max, **shape)
    if space.n_min == space.n_max:
        return mip_sp(program, space.n_max, **shape)
    return mip_sp_plus(program, space.n_min, space.n_max, **shape)


def refuse_checked_rules(space: GraphSpace) -> None:
    """Raise if a rule of the space has no rows: the program would encode another space."""
    if space.checked_rules:
        names = ", ".join(rule.name for rule in space.checked_rules)
        raise UnsupportedError(
            f'expected rules with linear rows for method "mip", got {names}, which have '
            'none; try method="exact", which checks every graph, or define rows(shape)'
        )


class AcquisitionProgram:
    """Eq. (1) over a space of graphs, with `lift` and `decode` between graphs and values.

    Rows, in the order they are added; each part lists its own:

    1. paths (`mip_sp`, `mip_sp_plus` or `reachability`), 2. `Attributes`, 3. `WeakConnectivity`
    if required, 4. `Distances`, 5. `Rules`, 6. `Symmetry` if requested, 7. `LabelledPaths`
    for SP and ESP, 8. counts (`coordinates`, `Scaled`), 9. `FunctionForm` or `WeightForm`.
    """

    def __init__(
        self, objective: Criterion, options: MipOptions, deadline: float = float("inf")
    ) -> None:
        def tick() -> None:
            if time.monotonic() > deadline:
                raise OutOfTime

        if not isinstance(objective.acquisition, LCB):
            raise UnsupportedError(
                f'expected the acquisition LCB for method "mip", got {objective.acquisition!r}: '
                'no other one can be encoded as a program; try LCB(1.0), or method="search"'
            )
        space, model = objective.space, objective.posterior.model
        refuse_checked_rules(space)
        kernel = encodable(model.kernel)
        form = options.form or ("function" if kernel.exponential else "weight")
        if form == "weight" and kernel.exponential:
            raise UnsupportedError(
                f'expected form="function" for kernel {kernel.name!r}, got form="weight", which '
                "exists for ssp and sp only; try form=None"
            )
        self.form = form
        self._space = space
        program = self.program = Program()
        paths = self.paths = encode_paths(program, objective, options)
        tick()
        self.attributes = Attributes(program, paths, space)
        weak = space.directed and space.connected is True and space.n_max > 1
        self._weak = WeakConnectivity(program, paths) if weak else None
        self._distances = Distances(program, paths)
        tick()
        self._rules = Rules(program, space, paths, self.attributes, self._distances)
        self._symmetry = Symmetry(program, space, paths) if options.symmetry else None
        tick()
        split = kernel.labelled and space.n_labels > 1
        self._labelled = (
            LabelledPaths(program, self._distances, self.attributes, space.n_labels, tick)
            if split
            else None
        )
        counts = coordinates(
            program,
            paths,
            self._distances,
            self.attributes,
            space,
            self._labelled,
            pairs=kernel.labelled,
            nodes=model.beta > 0,
        )
        tick()
        kind = WeightForm if form == "weight" else FunctionForm
        self._scaled = [(c, Scaled(program, paths, c, kind.one_hot)) for c in counts]
        tick()
        self._posterior = kind(program, model, self._scaled)
        kappa = float(objective.acquisition.kappa)
        value = self._posterior.mu - kappa * self._posterior.sigma
        program.minimise(value)  # standardised, as the solver's tolerances are absolute

    def lift(self, graph: Graph) -> dict[str, float]:
        """The values of all variables for a graph of the space, with the largest possible sigma."""
        values = self.paths.lift(graph)
        values |= self.attributes.lift(graph)
        if self._weak is not None:
            values |= self._weak.lift(graph)
        values |= self._distances.lift(values)
        values |= self._rules.lift(graph, values)
        if self._labelled is not None:
            values |= self._labelled.lift(graph, values)
        values = self.program.completed(values)
        for _, scaled in self._scaled:
            values |= scaled.lift(graph.n_nodes, values)
        return self._posterior.lift(values)

    def start(self, graph: Graph) -> dict[str, float]:
        """A starting point for the solver: the graph, renumbered to satisfy the symmetry rows."""
        return self.lift(graph if self._symmetry is None else self._symmetry.ordered(graph))

    def decode(self, values: Point) -> Graph:
        """The graph that the values describe."""
        return self.attributes.decode(values)

    def forbid(self, graph: Graph, name: str, most: int = 720) -> set[Graph]:
        """Forbid a graph and, if n! is at most ``most``, its renumbered copies; returns all.

        Rows ``name[i]``, one per copy. In a space that names its nodes a renumbered copy is another
        graph, which may still be proposed.
        """
        copies = {graph}
        if math.factorial(graph.n_nodes) <= most:
            copies |= {graph.permuted(order) for order in permutations(range(graph.n_nodes))}
        if any(rule.identify(graph) is not None for rule in self._space.rules):
            own = self._space.identity(graph)
            copies = {copy for copy in copies if self._space.identity(copy) == own}
        for i, copy in enumerate(sorted(copies, key=lambda g: g.to_json())):
            forbid(self.program, f"{name}[{i}]", copy, self.paths, self.attributes)
        return copies
