"""Sentences about failures, suspicious values and repeats in a study.

They are based on the recorded trials. Databases may come from anywhere, so invalid entries are
ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import display
from ..checks import is_whole
from ..trial import Trial

_MOST_NAMED = 10


def expectation_in_words(trial: Trial) -> str | None:
    """Predicted probability that an evaluation succeeds; ``None`` if there was none."""
    words = []
    if (probability := trial.predicted_success) is not None:
        words.append(f"expected to succeed with probability {probability:.2f}")
    kept = display.finite(trial.certificate.get("keeps_limits"))
    if kept is not None and 0 <= kept <= 1:
        words.append(f"expected to keep all limits with probability {kept:.2f}")
    return " and ".join(words) or None


def repeat_in_words(trial: Trial) -> str | None:
    """Reason why the model proposed to measure a graph again; ``None`` if it did not."""
    gain, of_new = (
        display.finite(trial.certificate.get(name)) for name in ("repeat_gain", "new_gain")
    )
    if trial.origin != "repeat" or gain is None or of_new is None:
        return None
    return (
        "measured again, since that is expected to improve the best prediction by "
        f"{gain:.2g} and a new graph by {of_new:.2g}"
    )


def failures_in_words(trials: Sequence[Trial]) -> str | None:
    """Number of failed evaluations, and what was learnt from them; ``None`` without any."""
    n_failed = sum(trial.state == "failed" for trial in trials)
    if not n_failed:
        return None
    n = sum(trial.is_finished for trial in trials)
    words = f"{n_failed} of {n} trials failed"
    foretold = [trial for trial in trials if trial.predicted_success is not None]
    if not foretold:
        return words
    last = foretold[-1]
    return (
        f"{words}; the model expects the graph of trial {last.id} to succeed with probability "
        f"{last.predicted_success:.2f}"
    )


def suspicious_in_words(trials: Sequence[Trial]) -> str | None:
    """The values that the latest model set aside; ``None`` without any."""
    recorded = [trial.certificate.get("suspicious") for trial in trials]
    latest = next((found for found in reversed(recorded) if isinstance(found, list)), [])
    known = [number for number in latest if is_whole(number) and 0 <= number < len(trials)]
    if not known:
        return None
    named = ", ".join(map(str, known[:_MOST_NAMED])) + (", …" if len(known) > _MOST_NAMED else "")
    if len(known) == 1:
        return (
            f"the value of trial {named} contradicts all others, and the model sets it aside: "
            "correct it if it is wrong, or measure again"
        )
    return (
        f"the values of trials {named} contradict all others, and the model sets them aside: "
        "correct what is wrong, or measure again"
    )
