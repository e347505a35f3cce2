"""What somebody who waits for a proposal reads about it."""

from __future__ import annotations

import math

from ..propose import Stage


def in_words(stage: Stage, sign: float) -> str:
    """How far a proposal has come; values times ``sign`` are in the user's units."""
    if stage.step == "search":
        return "found a candidate; proving how good it is"
    words = [f"proving: parts of the space left: {stage.n_open}"]
    if math.isfinite(stage.value):
        words.append(f"candidate {sign * stage.value:.4g}")
    if math.isfinite(stage.bound):
        words.append(f"bound {sign * stage.bound:.4g}")
    words.append(f"{stage.seconds:.0f} of {stage.time_limit:.0f} s")
    return ", ".join(words)
