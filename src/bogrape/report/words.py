"""A study in plain words: the space, its rules, effects on the prediction, and confidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..acquisition import LCB
from ..constraints.words import capitalised, with_article
from ..errors import StudyError
from ..kernels import RBF, get_kernel
from ..space import GraphSpace
from ..study.words import failures_in_words, suspicious_in_words
from ..subset import in_words as used_in_words
from ..trial import Trial
from .effects import Effect, Exchange
from .picture import Look
from .regret import regret_in_words
from .survey import Survey
from .text import number, percent, plural, plus_minus, shown
from .validation import Score, best_remedy

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
    "time_limit": "bounded, gap open",
    "heuristic": "searched, no proof",
}


_LOOSE = 0.5  # gap above which the summary does not mention the bound


# -- the space --------------------------------------------------------------------------------


def space_in_words(space: GraphSpace) -> list[str]:
    """The graphs to choose from and their rules, one sentence per item."""
    look, nouns = Look.of(space), space.nouns
    kind = f"directed {nouns.graphs}" if space.directed else nouns.graphs
    if space.acyclic and space.directed:
        kind += " without cycles"
    how = {
        True: "weakly connected " if space.directed else "connected ",
        "strong": "strongly connected ",
        "weak": "weakly connected ",
        False: "",
    }[space.connected]
    size = f"{space.n_min} to {space.n_max}" if space.n_min < space.n_max else str(space.n_max)
    out = [capitalised(f"{how}{kind} with {size} {nouns.node if size == '1' else nouns.nodes}.")]
    if space.n_labels > 1 or space.label_names:
        names = _some([look.name(a) for a in range(space.n_labels)])
        out.append(f"Every {nouns.node} has one of {plural(space.n_labels, 'label')}: {names}.")
    if space.n_features and not any(rule.derives_features for rule in space.rules):
        features = plural(space.n_features, "yes-or-no feature")
        out.append(f"Every {nouns.node} has {features}.")
    if space.n_edge_labels:
        out.append(_edge_labels_in_words(space, look))
    return out + [shown(rule.describe(nouns), 600) for rule in space.rules]


def _edge_labels_in_words(space: GraphSpace, look: Look) -> str:
    n, edge = space.n_edge_labels, look.nouns.edge
    if look.domain is None or len(look.domain.edge_label_names) < n:
        return f"Every {edge} has a label from 1 to {n}."
    return f"Every {edge} is {' or '.join(look.edge_with(k) for k in range(1, n + 1))}."


def _some(names: list[str]) -> str:
    return ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


# -- the prediction ---------------------------------------------------------------------------


def exchange_in_words(exchange: Exchange, look: Look) -> str:
    """The exchange in words, e.g. ``an O instead of a C``."""
    edge, edges = look.nouns.edge, look.nouns.edges
    match exchange.kind, exchange.parts:
        case "label", (gone, come):
            return f"{_one(come, look)} instead of {_one(gone, look)}"
        case "edge label", (gone, come):
            return f"{look.edge_with(come)} instead of {look.edge_with(gone)}"
        case "neighbours", (first, second):
            ends = f"{look.name(first)} and {look.name(second)}"
            return f"two labels swapped so that more {edges} join {ends}"
        case "feature", (m,):
            return f"{look.node_with(m)} instead of one without"
        case "closer", _:
            return f"one {edge} moved so that {look.nouns.nodes} lie closer together"
        case _:
            return f"one more {edge}"


def effect_in_words(effect: Effect, look: Look) -> str:
    """E.g. ``An O instead of a C changes the prediction by −0.12 ± 0.04.``"""
    what = exchange_in_words(effect.exchange, look)
    change = plus_minus(effect.mean, effect.std)
    sign = "+" if effect.mean > 0 else ""
    return f"{capitalised(what)} changes the prediction by {sign}{change}."


def effects_in_words(survey: Survey, most: int) -> list[str]:
    """Sentences on the drivers of the prediction, or on why they are not known yet."""
    if not survey.left_out.knows_something:
        return [_nothing_known(survey)]
    found = survey.effects[:most]
    if not found:
        out = (
            "No single exchange (of a label, an edge, a feature) changes the prediction by more "
            "than its uncertainty. Try more observations"
        )
        if survey.left_out.too_narrow:
            out += ", and settings with wider error bars; the current ones are too narrow"
        return [f"{out}."]
    return [effect_in_words(effect, survey.look) for effect in found]


def model_in_words(survey: Survey) -> str | None:
    """Distances that matter most to the model; ``None`` if the kernel does not learn them."""
    if not survey.left_out.knows_something or not isinstance(survey.gp.kernel, RBF):
        return None
    return survey.gp.describe()


def sample_in_words(survey: Survey) -> str | None:
    """Which observations the models of the study and the report use; ``None`` if all."""
    n = len(survey.complete) - survey.too_large
    said = []
    if survey.proposals:
        latest = survey.proposals[-1].certificate
        n_used, n_known = latest.get("n_used"), latest.get("n_observations")
        if isinstance(n_used, int) and isinstance(n_known, int) and 0 < n_used < n_known:
            said.append(used_in_words(n_used, n_known))
    if len(survey.kept) < n:
        said.append(
            f"Predictions in this report are made from {len(survey.kept):,} of {n:,} observations, "
            "spread evenly, the best among them."
        )
    return " ".join(said) or None


def _nothing_known(survey: Survey) -> str:
    how = (
        "no better than the mean of all values"
        if not survey.left_out.beats_the_mean
        else "not significantly better than the mean of all values"
    )
    out = (
        f"Predictions of left-out graphs are {how}: the model does not generalise to other graphs "
        "yet, so no effects on the value are shown."
    )
    better = best_remedy(survey.scores)
    if better is not None and better.left_out.knows_something:
        return f"{out} Try {settings_in_words(better)}, which predicts these data better."
    return (
        f"{out} Try more observations; or, if the value depends on something that labels and "
        "features of nodes do not show yet, a space with such labels or features."
    )


def settings_in_words(score: Score) -> str:
    """Settings as Python source."""
    return f'kernel="{score.kernel}", noise={_noise(score)}'


def _noise(score: Score) -> str:
    return f'"{score.noise}"' if isinstance(score.noise, str) else f"{score.noise:g}"


def remedy_in_words(survey: Survey) -> str:
    """Advice for predictions that are overconfident or no better than the mean."""
    found = survey.scores
    now = next((score.left_out for score in found if score.present), None)
    better = best_remedy(found)
    if better is None or now is None:
        return (
            "None of these settings predicts this study's observations better. Repeated "
            "evaluations of some graphs would show how much of the error is noise; labels or "
            "features that matter to the objective would help every kernel."
        )
    then = better.left_out
    out = (
        f"On this study's own observations, {settings_in_words(better)} predicts better: "
        f"{percent(then.inside)} instead of {percent(now.inside)} of the left-out values lie "
        f"inside their 95% intervals, and predictions are off by {number(then.rmse, 2)} instead of "
        f"{number(now.rmse, 2)} (root mean square)."
    )
    if not then.knows_something:
        out += (
            " Its error bars are wide enough, but it does not predict better than the mean of all "
            "values either: more observations are needed."
        )
    return out


def blind_spot(survey: Survey) -> str | None:
    """Properties of these graphs that the model cannot see, if any."""
    settings = survey.settings
    sees_edges = settings.surrogate is not None or get_kernel(settings.kernel).edge_labelled
    if survey.space.n_edge_labels < 2 or sees_edges:
        return None
    nouns = survey.space.nouns
    if any(rule.derives_features for rule in survey.space.rules):
        return (
            f"The model does not see the labels of {nouns.edges} themselves, only the features of "
            f"{nouns.nodes} that follow from them: two {nouns.graphs} that differ in nothing else "
            "get the same prediction."
        )
    return (
        f"The model does not see the labels of {nouns.edges}: two {nouns.graphs} that differ only "
        "in them get the same prediction. If they matter, express them by labels or features of "
        f"the {nouns.nodes}."
    )


def _one(label: int, look: Look) -> str:
    """A node with this label, with its article."""
    name = look.name(label)
    if look.label_names is None:
        return f"{with_article(look.nouns.node)} with {name}"
    return with_article(name)


# -- the summary ------------------------------------------------------------------------------


def goal_in_words(survey: Survey) -> str:
    """The aim of the study in one sentence."""
    if survey.goals is not None:
        among = space_in_words(survey.space)[0].rstrip(".")
        return f"{survey.goals.in_words()} among {among[:1].lower()}{among[1:]}."
    wanted = "smallest" if survey.sign > 0 else "largest"
    first = space_in_words(survey.space)[0].rstrip(".")
    return f"Looking for the {wanted} value among {first[:1].lower()}{first[1:]}."


def progress_in_words(survey: Survey) -> str:
    """Progress of the study in one sentence."""
    if not survey.trials:
        return "Nothing has been evaluated yet."
    origins = Counter(trial.origin for trial in survey.complete)
    names = {"initial": "in the initial design", "proposal": "proposed", "added": "known before"}
    parts = [f"{n} {names.get(origin, ORIGINS[origin])}" for origin, n in origins.items()]
    if n_outside := int(survey.outside.sum()):
        parts.append(f"{n_outside} of these outside the space, which only train the model")
    states: Counter[str] = Counter(trial.state for trial in survey.trials)
    for state, word in (("failed", "failed"), ("pending", "under way"), ("queued", "waiting")):
        if states[state]:
            parts.append(f"{states[state]} {word}")
    return ", ".join(parts) + "."


def changes_in_words(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Changes of settings, each with the first trial it applies to."""
    out = []
    for change in changes:
        found = change.get("changed")  # from the database: may be anything
        parts = [
            "rules added" if name == "space" else f"{name:.60} from {_short(pair)}"
            for name, pair in (found if isinstance(found, dict) else {}).items()
        ]
        out.append(f"From trial {change.get('from_trial')!s:.20} on: {', '.join(parts)}.")
    return out


def _short(pair: object) -> str:
    names = [
        str(value.get("name", value) if isinstance(value, dict) else value)[:60]
        for value in (pair if isinstance(pair, list) else [])
    ]
    return " to ".join(names)


def front_in_words(survey: Survey) -> str:
    """The Pareto front in a sentence, and its hypervolume."""
    goals = survey.goals
    if goals is None or not survey.front:
        return "No graph has values of all properties yet."
    rows = np.array([goals.row(means) for _, means in survey.front])
    every = np.array([goals.row(trial.values) for trial in survey.measured])
    reference = goals.reference_point(every)
    volume = goals.hypervolume(rows, reference)
    ranges = ", ".join(
        f"{name} from {number(low)} to {number(high)}"
        for name, low, high in zip(goals.names, rows.min(axis=0), rows.max(axis=0), strict=True)
    )
    point = ", ".join(map(number, reference.tolist()))
    return f"{capitalised(ranges)}. Hypervolume {number(volume)} up to ({point})."


def improvement_in_words(survey: Survey) -> str:
    """The evaluation that found the best value, and its improvement on the initial design."""
    best = survey.best
    if best is None:
        return "No value yet."
    position = next(i for i, trial in enumerate(survey.complete) if trial.id == best.id)
    out = f"Found at evaluation {position + 1} of {len(survey.complete)}"
    initial = [t.value for t in survey.complete if t.origin == "initial" and t.value is not None]
    value = survey.ranked[0][1]
    if initial and best.origin not in ("initial", "added"):
        first = survey.sign * min(survey.sign * v for v in initial)
        if math.isfinite(first - value):
            out += f", {number(abs(first - value), 3)} better than the best of the initial design"
    return out + "."


def certainty_in_words(survey: Survey) -> list[str]:
    """Confidence: the last certificate, and the accuracy of the surrogate."""
    out = []
    if survey.proposals:
        out.append(certificate_in_words(survey, survey.proposals[-1]))
    if (said := regret_in_words(survey)) is not None:
        out.append(said)
    for learnt in (failures_in_words(survey.trials), suspicious_in_words(survey.trials)):
        if learnt is not None:
            out.append(f"{capitalised(learnt)}.")
    if survey.goals is None:
        return [*out, *_predictions_in_words(survey)] or ["No predictions yet."]
    for name in survey.goals.names:
        out += [f"{name}: {line}" for line in _predictions_in_words(survey.of_property(name))]
    return out or ["No predictions yet."]


def _predictions_in_words(survey: Survey) -> list[str]:
    """Accuracy of the surrogate, in words."""
    out = []
    try:
        loo = survey.left_out
    except StudyError:
        if survey.complete:
            out.append("There are too few observations to assess the predictions.")
        return out
    words = (
        f"Predictions of left-out graphs are off by {number(loo.error, 2)} on average, the mean of "
        f"all values by {number(loo.error_of_the_mean, 2)}"
    )
    if math.isfinite(loo.correlation):
        words += f" (correlation {number(loo.correlation, 2)})"
    words += f"; {percent(loo.inside)} lie inside their 95% intervals"
    if survey.clipped:
        ids = ", ".join(str(trial.id) for trial in survey.clipped[:10])
        out.append(
            f"Values very far from all others are clipped: the model uses the nearest of the "
            f"others instead (trials {ids}). Correct them if they are typing errors."
        )
    if survey.capped:
        n = len(survey.capped)
        verb, them = ("are", "them") if n > 1 else ("is", "it")
        out.append(
            f"{n} of {len(survey.complete)} values {verb} so bad that the model takes "
            f"{number(survey.cap, 4)} for {them}, and so do the figures of its predictions."
        )
    if loo.too_narrow:
        words += ", too few: do not trust the error bars; see below for other settings"
    return [*out, f"{words}."]


def certificate_in_words(survey: Survey, trial: Trial, subject: str = "The last proposal") -> str:
    """The certificate of a trial's proposal in one sentence."""
    found = survey.certificate(trial)
    bound, gap, status = found.bound, found.gap, found.status
    if bound is None or gap is None or status in ("heuristic", ""):
        return f"{subject} was found by search; there is no proof that none is better."
    if status == "optimal":
        out = f"{subject} was proved to be the best possible next graph"
    elif gap > _LOOSE:
        return f"{subject} is the best graph found in its time limit; the proof did not finish."
    else:
        out = (
            f"{subject} was proved to be the best possible one to within "
            f"{found.gap_in_full}{'' if found.log_value is not None else ' of the observed values'}"
        )
    acquisition = survey.settings.acquisition
    weighted = {"success", "keeps_limits"} & set(trial.certificate)
    if isinstance(acquisition, LCB) and not weighted:
        side = "below" if survey.sign > 0 else "above"
        margin = f"{number(acquisition.kappa, 3)} standard deviation"
        out += (
            f": with a margin of {margin}{'' if acquisition.kappa == 1 else 's'}, no untried graph "
            f"was predicted {side} {number(bound)}"
        )
    return out + "."
