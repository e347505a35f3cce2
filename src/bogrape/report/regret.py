"""The regret bounds that a study recorded: a curve, and the last one in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..display import finite
from ..study.regret import REGRET
from .chart import BLUE, RED, Chart, clean, drawing_unit, mark_size, new_axes
from .text import number, percent

if TYPE_CHECKING:
    from .survey import Survey


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One recorded bound; malformed entries of the database are left out."""

    n: int  # evaluations the bound is based on
    value: float
    confidence: float
    calibrated: bool | None
    coverage: float | None = None  # share of left-out observations inside their 95 % intervals


def recorded(survey: Survey) -> list[Recorded]:
    """The finite bounds of complete trials, in the order of the trials."""
    out = []
    for i, trial in enumerate(survey.complete):
        data: Any = trial.details.get(REGRET)
        if not isinstance(data, dict):
            continue
        value, confidence = finite(data.get("value")), finite(data.get("confidence"))
        calibrated, coverage = data.get("calibrated"), finite(data.get("coverage"))
        if value is None or value < 0 or confidence is None or not 0 < confidence < 1:
            continue
        out.append(
            Recorded(
                n=i + 1,
                value=value,
                confidence=confidence,
                calibrated=calibrated if isinstance(calibrated, bool) else None,
                coverage=coverage if coverage is not None and 0 <= coverage <= 1 else None,
            )
        )
    return out


def regret_in_words(survey: Survey) -> str | None:
    """The last recorded bound in words."""
    found = recorded(survey)
    if not found:
        return None
    last = found[-1]
    out = (
        f"After evaluation {last.n}, no untried graph was expected to be better than the best by "
        f"more than {number(last.value, 3)} ({percent(last.confidence)} confidence, proved over "
        "the whole space for the model)"
    )
    if last.calibrated is False:
        out += ". The model was not calibrated"
        if last.coverage is not None:
            share = percent(last.coverage)
            out += f" (only {share} of left-out observations were inside their 95% intervals)"
        out += ", so do not rely on it"
    elif last.calibrated is None:
        out += ". Whether the model was calibrated is not known"
    return f"{out}."


def regret(survey: Survey) -> Chart:
    """Regret bound after each evaluation; red if the model was not calibrated."""
    found = recorded(survey)
    survey.need(1, "the regret bounds")
    figure, axes = new_axes()
    if found:
        unit, unit_words = drawing_unit(survey.values)
        at, values = [one.n for one in found], [one.value / unit for one in found]
        axes.step(at, values, where="post", color=BLUE, linewidth=2.2)
        off = [one for one in found if one.calibrated is False]
        size, _ = mark_size(len(found))
        axes.scatter(
            [one.n for one in off], [one.value / unit for one in off], s=size, color=RED, zorder=3
        )
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"regret at most{unit_words}")
    axes.set_xlabel("evaluation")
    clean(axes)
    words = regret_in_words(survey) or "No regret bound was recorded."
    if any(one.calibrated is False for one in found):
        words += " Red: the model was not calibrated."
    return Chart("How much better any graph may be", words, figure)
