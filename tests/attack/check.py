"""One instance: asks the package about it and checks that every answer is true."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Proposal, constraints, propose
from bogrape.errors import (
    BoGrapeError,
    EngineError,
    InfeasibleSpaceError,
    InvalidSpaceError,
    SamplingError,
    SearchSpaceExhausted,
    UnsupportedError,
)

from attack.disguise import incumbents, without_symmetry
from attack.graphs import Plain, classes, of_bogrape
from attack.instances import Instance, random_graph
from attack.model import Model, Standard
from attack.rules import PlainSpace, holds

_MOST_LISTED = 80  # graphs of the largest space that the package is asked to enumerate
_MOST_EXCLUDED = 150
_ROUNDING = 20  # times the error of the plain formulas in double precision
_LATE = 5.0  # seconds beyond the time limit, on a busy machine


class Wrong(Exception):
    """An answer of the package is not true."""


@dataclass
class Record:
    """Result of one instance."""

    instance: int
    seed: int
    outcome: str = ""  # a status, or the name of an error
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0
    n_graphs: int = 0
    kernel: str = ""
    method: str = ""
    incumbent: str = ""
    guarded: bool = False
    rounding: float = 0.0  # error of values in double precision, in deviations
    late: float = 0.0  # seconds beyond the time limit

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def attack(case: Instance) -> Record:
    """Ask the package and check every part of its answer."""
    record = Record(case.index, case.seed, kernel=case.kernel, method=case.method)
    record.incumbent = case.incumbent
    start = time.monotonic()
    try:
        _Attack(case, record).run()
    except Wrong as error:
        record.failures.append(str(error))
    except Exception:
        record.failures.append("leaked: " + traceback.format_exc(limit=-8))
    record.seconds = round(time.monotonic() - start, 3)
    return record


# -- from plain to bogrape ----------------------------------------------------------------------


def made_graph(graph: Plain, space: PlainSpace) -> Graph:
    bonds = np.array(graph.bonds)
    return Graph(
        bonds > 0,
        list(graph.labels),
        np.array(graph.features, dtype=bool).reshape(graph.n, space.kind.n_features),
        graph.directed,
        edge_labels=bonds if space.kind.n_edge_labels else None,
    )


def made_space(case: Instance, *, with_rules: bool = True) -> GraphSpace:
    space, kind = case.space, case.space.kind
    return GraphSpace(
        None if space.names.nodes else (space.sizes[0], space.sizes[-1]),  # type: ignore[arg-type]
        case.labels,
        kind.n_features,
        kind.directed,
        space.connected,  # type: ignore[arg-type]
        [made_rule(rule) for rule in _given(case)] if with_rules else [],  # type: ignore[arg-type]
        edge_labels=kind.n_edge_labels,
        acyclic=case.acyclic and with_rules,
        nodes=list(space.names.nodes) or None,  # type: ignore[arg-type]
    )


def _given(case: Instance) -> list[Any]:
    """The rules that are passed as rules, not by other arguments of the space."""
    rules = [rule for rule in case.space.rules if rule[0] != "NamedNodes"]
    return rules[:-1] if case.acyclic else rules


def made_rule(rule: Any) -> constraints.Rule:
    name, arguments = rule
    return constraints.RULES[name](**arguments)


# -- the attack ---------------------------------------------------------------------------------


class _Attack:
    def __init__(self, case: Instance, record: Record) -> None:
        self.case = case
        self.record = record
        self.rng = np.random.default_rng([case.seed, case.index, 1])
        self.truth = case.space.everything()
        record.n_graphs = len(self.truth)

    def run(self) -> None:
        try:
            space = made_space(self.case)
        except InvalidSpaceError as error:
            self.record.outcome = "refused"
            self._rules_contradict(self._named_in(str(error)), "the space was refused")
            return
        self._membership(space)
        self._enumeration(space)
        self._proposals(space)

    # -- the space ------------------------------------------------------------------------------

    def _membership(self, space: GraphSpace) -> None:
        plain = self.case.space
        graphs = [random_graph(self.rng, plain, 0.2) for _ in range(10)]
        some = self.rng.permutation(len(self.truth))[:5]
        listed = list(self.truth.values())
        graphs += [listed[i] for i in some]
        graphs += [self._neighbour(listed[i]) for i in some]
        for graph in graphs:
            said = space.contains(made_graph(graph, plain))
            if said != plain.contains(graph):
                raise Wrong(f"contains returned {said} for {graph}")

    def _neighbour(self, graph: Plain) -> Plain:
        """The graph with one edge more or less, to find rules that are off by one."""
        if graph.n == 1:
            return graph
        u, v = self.rng.permutation(graph.n)[:2].tolist()
        bond = 0 if graph.bonds[u][v] else 1
        rows = [list(row) for row in graph.bonds]
        rows[u][v] = bond
        if not graph.directed:
            rows[v][u] = bond
        return graph._replace(bonds=tuple(map(tuple, rows)))

    def _enumeration(self, space: GraphSpace) -> None:
        if len(self.truth) > _MOST_LISTED:
            return
        found = [self.case.space.identity(of_bogrape(graph)) for graph in space.enumerate()]
        if len(found) != len(set(found)) or set(found) != set(self.truth):
            raise Wrong(f"enumerate found {len(found)} graphs of {len(self.truth)}")

    # -- errors ---------------------------------------------------------------------------------

    def _bound_names(self) -> list[str]:
        """Names that the package gives to the rules of the instance."""
        bare = made_space(self.case, with_rules=False)
        labels = {name: i for i, name in enumerate(bare.label_names or ())}
        sites = {name: i for i, name in enumerate(bare.nodes or ())}
        names = []
        for rule in self.case.space.rules:
            if rule[0] == "NamedNodes":
                names.append(bare.rules[0].name)
            else:
                bound = made_rule(rule).located(sites).bind(labels, bare.shape(bare.n_max))
                names.append(bound.name)
        return names

    def _named_in(self, message: str) -> list[int]:
        return [i for i, name in enumerate(self._bound_names()) if name in message]

    def _rules_contradict(self, indices: Sequence[int], words: str) -> None:
        if self.truth:
            raise Wrong(f"{words}, but it contains {len(self.truth)} graphs")
        if self._n_under(indices):
            raise Wrong(f"{words}: the rules {indices} that it named do not contradict each other")

    def _n_under(self, indices: Sequence[int]) -> int:
        some = tuple(self.case.space.rules[i] for i in indices)
        return len(replace(self.case.space, rules=some).everything())

    def _none_can_be_spared(self, indices: Sequence[int]) -> None:
        for spared in indices:
            if not self._n_under([i for i in indices if i != spared]):
                raise Wrong(f"the rules {indices} contradict each other without rule {spared}")

    # -- proposals ------------------------------------------------------------------------------

    def _proposals(self, space: GraphSpace) -> None:
        case, plain = self.case, self.case.space
        gp = GraphGP(case.kernel, case.noise, n_labels=plain.kind.n_labels, **case.amplitudes)  # type: ignore[arg-type]
        gp.fit([made_graph(graph, plain) for graph in case.data], case.y)
        self.standard = Standard.of(case.y)
        found = gp.hyperparameters
        y = np.array([np.longdouble(str(value)) for value in self.standard.y])
        model = Model(
            kernel=case.kernel, **found, n_labels=plain.kind.n_labels, data=case.data, y=y
        )
        self.model = model.believing(case.pending)
        self.prior = found["alpha"] * (math.e if case.kernel.startswith("e") else 1) + found["beta"]
        self._choose_exclusions()
        answer = self._ask(space, gp)
        if answer is None:
            return
        self._certify(answer)
        if case.guarded and case.method != "mip" and not case.cut_off and case.n == 1:
            self.record.guarded = True
            for whose in ("solver", "model"):
                with without_symmetry(whose), self._named(f"without the {whose}'s symmetry"):
                    again = self._ask(space, gp)
                    if again is None:
                        raise Wrong(f"nothing was found: {self.record.outcome}")
                    self._certify(again)

    @contextmanager
    def _named(self, words: str) -> Iterator[None]:
        try:
            yield
        except Wrong as error:
            raise Wrong(f"{words}: {error}") from None

    def _choose_exclusions(self) -> None:
        """Choose graphs to exclude, renumbered where nodes have no names, and rank all graphs."""
        case = self.case
        keys, graphs = list(self.truth), list(self.truth.values())
        order = np.arange(0)
        if graphs:
            order = np.argsort(self._values(self.model, graphs)[0], kind="stable")
        taken = set(self.rng.permutation(len(keys))[: self.rng.integers(0, 8)].tolist())
        if self.rng.random() < 0.5:
            taken |= set(order[: self.rng.integers(1, 4)].tolist())
        if case.n_left is not None and len(keys) <= _MOST_EXCLUDED:
            kept = set(self.rng.permutation(len(keys))[: case.n_left].tolist())
            taken = set(range(len(keys))) - kept
        excluded = [self._renamed(graphs[i]) for i in sorted(taken)]
        excluded += [
            random_graph(self.rng, case.space, 0.3) for _ in range(self.rng.integers(0, 3))
        ]
        self.excluded = [made_graph(graph, case.space) for graph in excluded]
        self.pending = [made_graph(graph, case.space) for graph in case.pending]
        gone = {self._identity(graph) for graph in (*excluded, *case.pending)}
        self.left = {key: graph for key, graph in self.truth.items() if key not in gone}
        self.worst_first = [made_graph(graphs[i], case.space) for i in order[::-1]]

    def _identity(self, graph: Plain) -> Any:
        return self.case.space.identity(graph) if graph.n in self.case.space.sizes else None

    def _renamed(self, graph: Plain) -> Plain:
        if self.case.space.names.nodes:
            return graph
        return graph.renamed(tuple(self.rng.permutation(graph.n).tolist()))

    def _values(self, model: Model, graphs: Sequence[Plain]) -> tuple[np.ndarray, float]:
        """Values of graphs, computed once per isomorphism class, and their rounding error."""
        kind = self.case.space.kind
        keys = [(graph.n, classes(kind, graph.n).of[graph]) for graph in graphs]
        unlike = dict(zip(keys, graphs, strict=True))
        values, rounding = model.values(
            self.case.acquisition, self.standard.scale, list(unlike.values())
        )
        by_key = dict(zip(unlike, values, strict=True))
        return np.array([by_key[key] for key in keys]), rounding

    def _ask(self, space: GraphSpace, gp: GraphGP) -> list[Proposal] | None:
        """The proposals; None if the package is right to make none."""
        case = self.case
        name, number = case.acquisition
        start = time.monotonic()
        try:
            with incumbents(case.incumbent, self.worst_first):
                found = propose(
                    space,
                    gp,
                    LCB(number) if name == "lcb" else EI(number),
                    method=case.method,  # type: ignore[arg-type]
                    time_limit=case.time_limit,
                    exclude=self.excluded,
                    n=case.n,
                    seed=case.index,
                    pending=self.pending,
                )
        except BoGrapeError as error:
            self._is_right_to_raise(error)
            return None
        finally:
            self.record.late = round(time.monotonic() - start - case.time_limit, 3)
        if self.record.late > _LATE:
            raise Wrong(f"it took {self.record.late:.1f} s more than its limit")
        answer = found if isinstance(found, list) else [found]
        if len(answer) != case.n:
            raise Wrong(f"asked for {case.n} graphs, got {len(answer)}")
        return answer

    def _is_right_to_raise(self, error: BoGrapeError) -> None:
        case = self.case
        self.record.outcome = type(error).__name__
        if isinstance(error, EngineError):
            raise Wrong(f"{error}") from error
        if isinstance(error, SamplingError) and (case.cut_off or case.method == "mip"):
            return  # nothing was found, and nothing is claimed
        if isinstance(error, UnsupportedError) and case.method == "mip":
            return
        if isinstance(error, SearchSpaceExhausted):
            if self.truth and len(self.left) < case.n:
                return
            if not self.truth and case.method == "mip":
                return  # mip does not distinguish "infeasible" from "all graphs are excluded"
        if isinstance(error, InfeasibleSpaceError):
            names = self._bound_names()
            if unknown := set(error.rules) - set(names):
                raise Wrong(f"it named rules that the space does not have: {unknown}")
            indices = [i for i, name in enumerate(names) if name in error.rules]
            self._rules_contradict(indices, "the space was called infeasible")
            if case.method != "mip" and not case.cut_off and len(set(names)) == len(names):
                self._none_can_be_spared(indices)
            return
        raise Wrong(
            f"raised {type(error).__name__} ({error}) with {len(self.left)} graphs left "
            f"of {len(self.truth)}"
        ) from error

    # -- certificates ---------------------------------------------------------------------------

    def _certify(self, answer: Sequence[Proposal]) -> None:
        model, left = self.model, dict(self.left)
        for proposal in answer:
            if not left:
                raise Wrong(f"proposed {proposal.graph}, but all graphs are excluded")
            graph = of_bogrape(proposal.graph)
            if not self.case.space.contains(graph):
                broken = [
                    rule
                    for rule in self.case.space.rules
                    if not holds(rule, graph, self.case.space.names)
                ]
                raise Wrong(f"{proposal.graph} is not in the space: {broken}")
            key = self.case.space.identity(graph)
            if key not in left:
                raise Wrong(f"{proposal.graph} is excluded")
            self._certify_one(proposal, graph, model, list(left.values()))
            del left[key]
            model = model.believing([graph])

    def _certify_one(
        self, proposal: Proposal, graph: Plain, model: Model, left: list[Plain]
    ) -> None:
        # many graphs show the rounding error better than the few that may be proposed
        values, rounding = self._values(model, [graph, *left, *self.truth.values()])
        own, optimum = float(values[0]), float(values[: 1 + len(left)].min())
        self.record.outcome = proposal.status
        self.record.rounding = max(self.record.rounding, rounding)
        offset = self.case.acquisition[0] == "lcb"
        scale = float(self.standard.scale)
        digits = 8 * math.ulp(proposal.value) / scale
        if offset:
            digits += 8 * math.ulp(float(self.standard.mean)) / scale
        exactly = _ROUNDING * rounding + digits + 1e-9 * max(1.0, abs(optimum))
        near = exactly + 1e-6 * max(1.0, abs(optimum))
        if self.case.method == "mip":  # a solver with tolerances: see bogrape.propose.mip.propose
            kappa = self.case.acquisition[1]
            tolerance = 1e-6 if self.case.kernel.startswith("e") else 1e-8
            near += kappa * math.sqrt(tolerance * self.prior)
            exactly = near
        value = self.standard.standard(proposal.value, offset)
        told = f"{proposal.status} {value:.12g}, truth {own:.12g}, optimum {optimum:.12g}"
        if abs(value - own) > near:
            raise Wrong(f"the value is not that of the graph: {told}")
        if not math.isclose(proposal.scale, scale, rel_tol=1e-9):
            raise Wrong(f"the scale is {proposal.scale!r}, not {scale!r}")
        if proposal.bound > proposal.value:
            raise Wrong(f"the bound {proposal.bound!r} is above the value {proposal.value!r}")
        if proposal.bound == -math.inf:
            if proposal.status == "optimal" or proposal.gap != math.inf:
                raise Wrong(f"{proposal.status} with gap {proposal.gap} and no bound")
            return
        bound = self.standard.standard(proposal.bound, offset)
        if bound > optimum + exactly:
            raise Wrong(f"the bound {bound:.12g} is above the optimum: {told}")
        if proposal.status == "optimal":
            if value > optimum + near:
                raise Wrong(f"not optimal: {told}")
            if proposal.gap != 0 or value - bound > near:
                raise Wrong(f"optimal with gap {proposal.gap} and bound {bound:.12g}: {told}")
        elif abs(proposal.gap - _apart(proposal, value - bound)) > (
            near * 1e-3 + digits + 1e-6 * abs(bound)
        ):
            raise Wrong(f"gap {proposal.gap} with bound {bound:.12g}: {told}")
        elif self.case.method != "mip" and not self.case.cut_off:
            raise Wrong(f"left open with gap {proposal.gap:.3g}: {told}")


def _apart(proposal: Proposal, otherwise: float) -> float:
    """Gap between value and bound; for EI, the logarithm of a factor."""
    if proposal.log_value is None or proposal.log_bound is None:
        return otherwise
    if not math.isclose(math.exp(proposal.log_value), -proposal.value, rel_tol=1e-6):
        raise Wrong(f"{proposal.log_value} is not the logarithm of minus {proposal.value}")
    return proposal.log_bound - proposal.log_value
