"""A study in plain words: the space, its rules, what drives the prediction, how sure we are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..acquisition import LCB
from ..constraints import (
    Acyclic,
    CycleRange,
    DegreeRange,
    DiameterRange,
    FixedLabel,
    ForbiddenAdjacency,
    ForbiddenEdge,
    LabelCount,
    NamedLabel,
    NumberOfEdges,
    RequiredEdge,
    RequiredSubgraph,
    Rule,
)
from ..errors import StudyError
from ..space import GraphSpace
from .picture import Look, is_molecular
from .survey import Driver, Survey
from .text import number, percent, plural, shown

ORIGINS = {
    "initial": "initial design",
    "random": "random",
    "proposal": "proposal",
    "queued": "asked for by hand",
    "added": "known before",
    "repeat": "repeated",
}
STATUSES = {
    "optimal": "proved optimal",
    "time_limit": "bounded, not closed",
    "heuristic": "searched, no proof",
}


_TRUSTED = 0.8  # share of observations within two standard deviations; 0.95 if all assumptions hold
_LOOSE = 0.5  # gap beyond which a bound says too little to be repeated in the summary


# -- the space --------------------------------------------------------------------------------


def space_in_words(space: GraphSpace) -> list[str]:
    """The graphs to choose from and their rules, a sentence each."""
    kind = "directed graphs" if space.directed else "graphs"
    if space.acyclic and space.directed:
        kind = "directed graphs without cycles"
    how = {
        True: "Weakly connected " if space.directed else "Connected ",
        "strong": "Strongly connected ",
        "weak": "Weakly connected ",
        False: "",
    }[space.connected]
    size = f"{space.n_min} to {space.n_max}" if space.n_min < space.n_max else str(space.n_max)
    first = f"{how}{kind} with {size} node{'' if size == '1' else 's'}."
    out = [first[:1].upper() + first[1:]]
    look = Look.of(space)
    if space.n_labels > 1 or space.label_names:
        names = [look.name(a) for a in range(space.n_labels)]
        some = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        out.append(f"Every node has one of {plural(space.n_labels, 'label')}: {some}.")
    if space.n_features:
        out.append(f"Every node has {plural(space.n_features, 'yes-or-no feature')}.")
    if space.n_edge_labels:
        out.append(f"Every edge has a label from 1 to {space.n_edge_labels}.")
    return out + [rule_in_words(rule, look, space.directed) for rule in space.rules]


def rule_in_words(rule: Rule, look: Look, directed: bool = False) -> str:
    """One rule as a sentence; one without words of its own by its name."""
    write = _RULES.get(type(rule))
    if rule.package == "molecules" and type(rule).__name__ == "Valence":
        return "Every graph is a molecule: nodes are atoms with their usual valences."
    if write is None:
        return f"Rule: {shown(rule.name, 300)}."
    return write(rule, look, "arc" if directed else "edge")


def _span(rule: Any) -> str:
    low, high = rule.minimum, rule.maximum
    if high is None:
        return f"at least {low}"
    if low == high:
        return f"exactly {low}"
    return f"at most {high}" if low == 0 else f"{low} to {high}"


def _label(label: Any, look: Look) -> str:
    if isinstance(label, NamedLabel):
        return shown(label.name, 24)
    return str(int(label)) if look.label_names is None else look.name(int(label))


def _degree(rule: DegreeRange, look: Look, edge: str) -> str:
    who = "Every node" if rule.node is None else f"Node {rule.node}"
    if rule.label is not None:
        who += f" labelled {_label(rule.label, look)}"
    which = {"in": "incoming ", "out": "outgoing ", None: ""}[rule.direction]
    return f"{who} has {_span(rule)} {which}{edge}s."


def _subgraph(rule: RequiredSubgraph, look: Look, edge: str) -> str:
    edges = ", ".join(f"{u}–{v}" for u, v in rule.edges[:12])
    out = f"These {edge}s are there: {edges}" if rule.edges else "These nodes are there"
    if rule.labels:
        named = ", ".join(f"node {v} is {_label(a, look)}" for v, a in rule.labels[:12])
        out += f"; {named}"
    return out + ("; and no others among those nodes." if rule.induced else ".")


_RULES: dict[type[Rule], Callable[[Any, Look, str], str]] = {
    NumberOfEdges: lambda rule, look, edge: f"There are {_span(rule)} {edge}s.",  # noqa: ARG005
    DegreeRange: _degree,
    LabelCount: lambda rule, look, edge: (  # noqa: ARG005
        f"There are {_span(rule)} nodes labelled {_label(rule.label, look)}."
    ),
    FixedLabel: lambda rule, look, edge: (  # noqa: ARG005
        f"Node {rule.node} is labelled {_label(rule.label, look)}."
    ),
    RequiredEdge: lambda rule, look, edge: (  # noqa: ARG005
        f"Nodes {rule.u} and {rule.v} are joined by an {edge}."
    ),
    ForbiddenEdge: lambda rule, look, edge: (  # noqa: ARG005
        f"Nodes {rule.u} and {rule.v} are not joined by an {edge}."
    ),
    ForbiddenAdjacency: lambda rule, look, edge: (
        f"No {edge} joins nodes labelled {_label(rule.label_a, look)} and "
        f"{_label(rule.label_b, look)}."
    ),
    RequiredSubgraph: _subgraph,
    DiameterRange: lambda rule, look, edge: (  # noqa: ARG005
        f"The longest of all shortest paths has {_span(rule)} steps."
    ),
    CycleRange: lambda rule, look, edge: (  # noqa: ARG005
        f"There are {_span(rule)} independent cycles."
    ),
    Acyclic: lambda rule, look, edge: "There are no cycles.",  # noqa: ARG005
}


# -- the prediction ---------------------------------------------------------------------------


def driver_name(driver: Driver, look: Look) -> str:
    """What is counted, e.g. ``pairs C–O at distance 2``."""
    if driver.feature is not None:
        return look.feature(driver.feature)
    if driver.distance == 0:
        return f"nodes labelled {_label(driver.labels[0], look)}"
    if not driver.labels:
        return "edges" if driver.distance == 1 else f"pairs of nodes at distance {driver.distance}"
    ends = "–".join(look.name(label) for label in driver.labels)
    if look.label_names is None:
        ends = "of labels " + "–".join(map(str, driver.labels))
    return (
        f"edges {ends}" if driver.distance == 1 else f"pairs {ends} at distance {driver.distance}"
    )


def driver_in_words(driver: Driver, look: Look) -> str:
    """E.g. ``More pairs C–O at distance 2 lower the value``."""
    verb = "lower" if driver.effect < 0 else "raise"
    return f"More {driver_name(driver, look)} {verb} the value."


# -- the summary ------------------------------------------------------------------------------


def goal_in_words(survey: Survey) -> str:
    """What was optimised."""
    wanted = "smallest" if survey.sign > 0 else "largest"
    first = space_in_words(survey.space)[0].rstrip(".")
    if is_molecular(survey.space):
        first = first.replace("onnected graphs", "onnected molecules").replace("nodes", "atoms")
    return f"Looking for the {wanted} value among {first[:1].lower()}{first[1:]}."


def progress_in_words(survey: Survey) -> str:
    """How far the study is."""
    if not survey.trials:
        return "Nothing has been evaluated yet."
    origins = Counter(trial.origin for trial in survey.complete)
    names = {"initial": "in the initial design", "proposal": "proposed", "added": "known before"}
    parts = [f"{n} {names.get(origin, ORIGINS[origin])}" for origin, n in origins.items()]
    states: Counter[str] = Counter(trial.state for trial in survey.trials)
    for state, word in (("failed", "failed"), ("pending", "under way"), ("queued", "waiting")):
        if states[state]:
            parts.append(f"{states[state]} {word}")
    return ", ".join(parts) + "."


def improvement_in_words(survey: Survey) -> str:
    """When the best value came, and how it compares with the initial design."""
    best = survey.best
    if best is None:
        return "No value yet."
    position = next(i for i, trial in enumerate(survey.complete) if trial.id == best.id)
    out = f"Found at evaluation {position + 1} of {len(survey.complete)}"
    initial = [t.value for t in survey.complete if t.origin == "initial" and t.value is not None]
    value = survey.ranked[0][1]
    if initial and best.origin not in ("initial", "added"):
        first = survey.sign * min(survey.sign * v for v in initial)
        out += f", {number(abs(first - value), 3)} better than the best of the initial design"
    return out + "."


def certainty_in_words(survey: Survey) -> list[str]:
    """How sure we are: the last certificate, and how well the surrogate predicts."""
    out = []
    if survey.proposals:
        out.append(_certificate(survey))
    try:
        loo = survey.left_out
    except StudyError:
        if survey.complete:
            out.append("Too little is known to say how good the predictions are.")
        return out or ["Nothing is known yet."]
    words = f"Predictions of left-out graphs are off by {number(loo.error, 2)} on average"
    if math.isfinite(loo.correlation):
        words += f" (correlation {number(loo.correlation, 2)})"
    words += f"; {percent(loo.inside)} lie within two standard deviations"
    if loo.inside < _TRUSTED:
        words += ", fewer than they should: do not trust the error bars too much"
    return [*out, f"{words}."]


def _certificate(survey: Survey) -> str:
    """What the last proposal was known to be."""
    last = survey.proposals[-1].certificate
    bound, gap, status = last.get("bound"), last.get("gap"), last.get("status")
    if bound is None or gap is None or status == "heuristic":
        return "The last proposal came from a search, without a proof that none is better."
    if status == "optimal":
        out = "The last proposal was proved to be the best possible next graph"
    elif gap > _LOOSE:
        return "The last proposal is the best found in its time; the proof was not finished."
    else:
        out = (
            "The last proposal was proved to be as good as the best possible one, within "
            f"{number(gap, 2)} standard deviations of the observed values"
        )
    acquisition = survey.settings.acquisition
    if isinstance(acquisition, LCB):
        side = "below" if survey.sign > 0 else "above"
        margin = f"{number(acquisition.kappa, 3)} standard deviation"
        out += (
            f": with a margin of {margin}{'' if acquisition.kappa == 1 else 's'}, no untried graph "
            f"was predicted {side} {number(bound)}"
        )
    return out + "."
