"""Leave-one-out scores of a Gaussian process, and of other settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..arrays import FloatArray
from ..errors import BoGrapeError
from ..graph import Graph
from ..kernels import KERNELS, Kernel, get_kernel, is_published
from ..left_out import Inverse, LeaveOneOut
from ..study import StudySettings

_ALIKE = 0.05  # mean log densities that differ by less count as equally good


@dataclass(frozen=True)
class Score:
    """Settings of a Gaussian process, and its leave-one-out predictions with them."""

    kernel: str  # name of the kernel
    noise: float | Literal["fit", "robust"]
    left_out: LeaveOneOut
    present: bool  # True for the settings of the study


def scores(
    graphs: Sequence[Graph],
    y: FloatArray,
    settings: StudySettings,
    known_noise: Sequence[float] | None = None,
) -> list[Score]:
    """Scores of the current settings, then of fitted noise and the other kernels."""
    present, noise = get_kernel(settings.kernel), settings.noise
    others: list[Kernel] = list(KERNELS.values())
    if settings.space.n_labels == 1:  # then SP equals SSP, and ESP equals ESSP
        labelled = is_published(present) and present.labelled
        others = [kernel for kernel in others if kernel.labelled == labelled]
    others = [kernel for kernel in (*others, get_kernel("rbf")) if kernel != present]
    out = []
    for kernel in (present, *others):
        for chosen in dict.fromkeys((noise, "fit")):
            gp = settings.new_model(
                kernel=kernel,
                noise=chosen,
                alpha=settings.alpha if kernel is present else None,  # it belongs to this kernel
                beta=None if kernel.includes_features else settings.beta,
                restarts=min(3, settings.restarts),
                most_observations=None,
            )
            try:
                gp.fit(graphs, y, noise=known_noise)
            except BoGrapeError:  # these settings do not work for these data
                continue
            found = LeaveOneOut.of(Inverse(gp.posterior.model), settings.sign)
            is_present = kernel is present and chosen == noise
            out.append(Score(kernel.name, chosen, found, is_present))
    return out


def best_remedy(found: Sequence[Score]) -> Score | None:
    """The settings to recommend instead of the current ones, or ``None``.

    Only settings with calibrated intervals are considered; of these, those that beat the mean, if
    any; of these, the one with the largest predictive density. If several come close to it,
    the current settings, then the current kernel, are preferred.
    """
    honest = [score for score in found if not score.left_out.too_narrow]
    pool = [score for score in honest if score.left_out.knows_something] or honest
    if not pool:
        return None
    top = max(score.left_out.density for score in pool)
    close = [score for score in pool if score.left_out.density > top - _ALIKE]
    kernel = next((score.kernel for score in found if score.present), None)
    best = max(
        close, key=lambda score: (score.present, score.kernel == kernel, score.left_out.density)
    )
    return None if best.present else best
