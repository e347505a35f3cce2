"""Progress messages about the trials of a running study."""

from __future__ import annotations

from .display import gap_in_words, printable
from .errors import StudyError
from .study import Study
from .trial import Trial


def in_words(study: Study, trial: Trial) -> str:
    """The outcome of a trial, the best value so far, the gap and the times spent."""
    fields = {"best": _best(study), **_times(trial)}
    details = ", ".join(f"{name} {text}" for name, text in fields.items())
    return f"trial {trial.id}: {_outcome(trial)} ({details})"


def _outcome(trial: Trial) -> str:
    if trial.values:
        return ", ".join(f"{name} {value:.6g}" for name, value in trial.values.items())
    if trial.value is not None:
        return f"{trial.value:.6g}"
    return f"{trial.state}, {printable(trial.reason)}"


def _best(study: Study) -> str:
    """The best value in a few digits, or a dash; for a front, its number of graphs."""
    goals = study.settings.goals
    if goals is not None and goals.is_pareto:
        return f"front of {len(study.pareto_front)}"
    try:
        return f"{study.best.value:.5g}"
    except StudyError:
        return "–"


def _times(trial: Trial) -> dict[str, str]:
    """Gap of the proposal, and seconds of fit, proposal and evaluation, if known."""
    certificate = trial.certificate
    out = {}
    if certificate:
        of_logs = certificate.get("log_value") is not None
        out["gap"] = gap_in_words(certificate.get("gap"), of_logs=of_logs)
        out["fit"] = f"{certificate.get('fit_seconds') or 0.0:.2g}s"
        out["propose"] = f"{certificate.get('seconds') or 0.0:.2g}s"
    seconds = trial.evaluation_seconds
    if seconds is not None:
        out["evaluate"] = f"{seconds:.2g}s"
    return out
