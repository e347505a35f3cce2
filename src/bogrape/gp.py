"""`GraphGP`: Gaussian process regression on graphs, fitted to observations."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from inspect import signature
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from .arrays import BoolArray, FloatArray, IntArray
from .checks import positive, whole
from .counts import Counts, count
from .errors import FitError, InvalidInputError, SamplingError
from .fitting import Problem
from .graph import Graph
from .groups import groups_of
from .joint_fitting import fit_jointly
from .kernels import RBF, Kernel, KernelName, get_kernel, is_linear
from .observed_values import (
    checked_noise,
    checked_observations,
    standardise,
    standardised_noise,
)
from .outliers import ROUNDS, far_values, suspicious_values
from .posterior import FittedModel, Posterior, posterior_of
from .space import GraphSpace
from .subset import in_words as used_in_words
from .subset import representative

STUDY_CLIP = 1e3  # typical distances from the median beyond which studies clip values
STUDY_OBSERVATIONS = 1000  # most observations in a study's model, unless all are cheap
MOST_COORDINATES = 500  # of a linear kernel's feature vector, up to which all are used
_LARGEST = float(np.finfo(float).max)
_TYPICAL_GRAPHS = 100  # random graphs of the space that a kernel is scaled to
_TYPICAL_NUMBERS = 20_000_000  # most numbers in their counts
_TYPICAL_SECONDS = 2.0  # to draw them

logger = logging.getLogger(__name__)


class GraphGP:
    """Gaussian process regression on graphs.

    Args:
        kernel: ``"ssp"``, ``"sp"``, ``"essp"``, ``"esp"``, ``"rbf"``, or a custom kernel
            (`bogrape.kernels.Kernel`), given itself or by its registered name.
        noise: noise variance in units of the standardised observations, ``"fit"``, or ``"robust"``:
            fitted, and observations that all others contradict are discounted (`bogrape.outliers`;
            `suspicious` names them). All observations share it; pass known variances of
            single observations to `fit`.
        feature_kernel: whether to add ``beta k_F`` (labels and features of nodes). Not used with
            ``"rbf"``, which compares them itself.
        n_labels: number of labels L; by default that of the space, or one more than the largest
            label in the data. Give it if the space has labels that may be missing in the data.
        space: the space from which the observed graphs were chosen, if known. The kernel
            ``"rbf"`` measures length scales in distances between random graphs of the space (100,
            or as many as can be drawn in two seconds), otherwise between the observed graphs: the
            model then depends slightly on the choice of graphs, apart from their values.
        restarts: number of starting points of the fit. The hyperparameters of ``"rbf"`` all have
            priors: two are enough for it.
        seed: seed of the random starting points.
        alpha, beta: fix an amplitude instead of fitting it.
        clip: values farther from the median than this multiple of the typical distance
            (the median of the distances) are replaced by the nearest value that is not as far;
            `clipped` lists them. Otherwise one value of 1e155 among others near 1 would make all
            others look equal. By default nothing is clipped; studies clip at `STUDY_CLIP`.
        cap: values that are worse (larger) than the median by more than this multiple of the
            typical distance are replaced by this bound; `capped` lists them. The model then
            distinguishes good graphs from each other rather than bad ones from very bad ones. By
            default nothing is capped.
        most_observations: most observations to use for the model if the cost grows with their
            cube: for ESSP, ESP and custom kernels, and for SP and SSP if the
            feature vector has more than `MOST_COORDINATES` coordinates. See `bogrape.subset` for
            the selection, and `used` for the result. All values are standardised
            together. By default all observations are used; studies use `STUDY_OBSERVATIONS`.
    """

    def __init__(
        self,
        kernel: KernelName | Kernel = "ssp",
        noise: float | Literal["fit", "robust"] = 1e-6,
        *,
        feature_kernel: bool = True,
        n_labels: int | None = None,
        space: GraphSpace | None = None,
        restarts: int = 5,
        seed: int = 0,
        alpha: float | None = None,
        beta: float | None = None,
        clip: float | None = None,
        cap: float | None = None,
        most_observations: int | None = None,
    ) -> None:
        # The arguments as given, by name, for `get_params`.
        self._given = {name: value for name, value in locals().items() if name != "self"}
        self.kernel = get_kernel(kernel)
        fitted = isinstance(noise, str) and noise in ("fit", "robust")
        if not fitted:
            positive(noise, "noise, a variance, 'fit' or 'robust',")
        for name, amount in (("alpha", alpha), ("beta", beta), ("clip", clip), ("cap", cap)):
            if amount is not None:
                positive(amount, name)
        if n_labels is not None:
            n_labels = whole(n_labels, "n_labels", 1)
        if most_observations is not None:
            most_observations = whole(most_observations, "most_observations", 4)
        if not isinstance(feature_kernel, (bool, np.bool_)):
            raise InvalidInputError(
                f"feature_kernel must be True or False, got {feature_kernel!r:.100}"
            )
        if space is not None and not isinstance(space, GraphSpace):
            raise InvalidInputError(f"space must be a GraphSpace, got {type(space).__name__}")
        if beta is not None and self.kernel.includes_features:
            raise InvalidInputError(
                f"beta is the amplitude of the feature kernel, got {beta!r} with the kernel "
                f"{self.kernel.name!r}, which has none; leave beta out"
            )
        if beta is not None and not feature_kernel:
            raise InvalidInputError(
                f"beta is the amplitude of the feature kernel, got {beta!r} with "
                "feature_kernel=False; leave one of them out"
            )
        self.noise = noise
        self.feature_kernel = bool(feature_kernel) and not self.kernel.includes_features
        self.space = space
        self.n_labels = space.n_labels if n_labels is None and space is not None else n_labels
        self.restarts = whole(restarts, "restarts", 1)
        self.seed = whole(seed, "seed", 0)
        self.clip = clip
        self.cap = cap
        self.most_observations = most_observations
        self._known = {
            "alpha": alpha,
            "beta": beta if self.feature_kernel else 0.0,
            "noise": None if fitted else float(noise),
        }
        self._posterior: Posterior | None = None
        self._likelihood = math.nan
        self._directed = False
        self._clipped: tuple[int, ...] = ()
        self._suspicious: tuple[int, ...] = ()
        self._capped: tuple[int, ...] = ()
        self._used = np.zeros(0, dtype=np.int64)
        self._n_observations = 0

    def fit(
        self,
        graphs: Sequence[Graph],
        y: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        to_beat: ArrayLike | None = None,
        start: Mapping[str, float] | None = None,
    ) -> GraphGP:
        """Fit the hyperparameters by maximum marginal likelihood; returns self.

        For hyperparameters with a prior (fitted noise, and all those of ``"rbf"``), the product of
        likelihood and prior is maximised.

        The cost is one decomposition, in ``O(T d^2)`` for T observations and d coordinates of a
        linear kernel and otherwise in ``O(T^3)``; each of the several hundred sets of
        hyperparameters tried then costs very little. A kernel with hyperparameters of its own,
        such as ``"rbf"``, needs a decomposition for each, but of at most
        `bogrape.joint_fitting.MOST_FITTED` observations. The result depends on the observations,
        and on the space if there is one, never on the clock.

        Args:
            graphs: the observed graphs.
            y: one value per graph.
            noise: the variance of each value, if known from the measurement: the square of its
                standard deviation, in your units; NaN or None where unknown. These variances are
                *added* to the noise of the model, which covers everything else: a value of unknown
                variance has only that noise.
            to_beat: observations that may be the best value so far, for EI; by default all. Studies
                leave out graphs outside their space, which no proposal can replace. With fitted
                or known noise, the value to beat is the smallest mean of their graphs.
            start: `hyperparameters` of an earlier fit, used as an additional starting point for
                kernels with hyperparameters of their own.
        """
        values = checked_observations(graphs, y)
        known_noise = checked_noise(noise, len(values))
        if self.noise == "robust":
            return self._fit_robustly(graphs, values, known_noise, to_beat, start)
        return self._fit(graphs, values, known_noise, to_beat, start)

    def _fit_robustly(
        self,
        graphs: Sequence[Graph],
        values: FloatArray,
        noise: FloatArray | None,
        to_beat: ArrayLike | None,
        start: Mapping[str, float] | None,
    ) -> GraphGP:
        """Fit, name suspicious observations, and fit again, until the same ones are named."""
        told = np.zeros(len(values)) if noise is None else noise
        extra = far_values(values)
        for _ in range(ROUNDS):
            own = told + extra
            self._fit(graphs, values, own if own.any() else None, to_beat, start)
            model, found = self.posterior.model, np.zeros(len(values))
            squared = model.y_scale * model.y_scale
            found[self._used] = squared * suspicious_values(model, extra[self._used] / squared)
            if ((found > 0) == (extra > 0)).all():
                break
            extra = found
        else:  # not settled: fit once more with the last ones, so that the model matches them
            own = told + extra
            self._fit(graphs, values, own if own.any() else None, to_beat, start)
        self._suspicious = tuple(map(int, np.flatnonzero(extra)))
        return self

    def _fit(
        self,
        graphs: Sequence[Graph],
        values: FloatArray,
        known_noise: FloatArray | None,
        to_beat: ArrayLike | None,
        start: Mapping[str, float] | None,
    ) -> GraphGP:
        standard = standardise(values, self.clip, known_noise, self.cap)
        own_noise = None
        if known_noise is not None:
            own_noise = standardised_noise(known_noise, standard.scale)
        beaten = None if to_beat is None else np.asarray(to_beat, dtype=bool)
        used, n_labels = self._chosen(graphs, standard.y, beaten)
        counts = self._count([graphs[i] for i in used], n_labels)
        y = standard.y[used]
        own_noise = None if own_noise is None else own_noise[used]
        with threadpool_limits(1):  # threads slow down small matrices by a factor of 5 to 20
            problem = Problem(
                kernel=self._scaled_kernel(counts),
                counts=counts,
                y=y,
                known=self._known,
                feature_kernel=self.feature_kernel,
                restarts=self.restarts,
                seed=self.seed,
                start=start or {},
                own_noise=own_noise,
            )
            fit = fit_jointly(problem) if problem.needs_all_at_once else problem.fit()
            model = FittedModel(
                kernel=fit.kernel,
                alpha=fit.alpha,
                beta=fit.beta,
                noise=fit.noise,
                counts=counts,
                y=y,
                y_mean=standard.mean,
                y_scale=standard.scale,
                n_features=counts.features.shape[1],
                to_beat=None if beaten is None else beaten[used],
                own_noise=own_noise,
            )
            posterior = posterior_of(model)
            if self._known["noise"] is None or own_noise is not None:
                smoothed, _ = posterior.standard_mean_std(counts)
                posterior = posterior_of(replace(model, smoothed=smoothed))
        self._posterior, self._likelihood = posterior, fit.log_likelihood
        self._directed = graphs[0].directed
        self._clipped, self._capped = standard.clipped, standard.capped
        self._suspicious = ()
        self._used, self._n_observations = used, len(values)
        return self

    def _count(self, graphs: Sequence[Graph], n_labels: int | None) -> Counts:
        kernel = self.kernel
        edges = kernel.edge_labelled or isinstance(kernel, RBF)  # RBF must know if there are none
        return count(graphs, n_labels, pairs=kernel.labelled, edges=edges)

    def _scaled_kernel(self, observed: Counts) -> Kernel:
        """The kernel, scaled to random graphs of the space or else to the observed ones."""
        kernel = self.kernel
        if not isinstance(kernel, RBF):
            return kernel
        scaled: RBF | None = kernel if kernel.scales else None
        if scaled is None and self.space is not None:
            scaled = scaled_to_space(kernel, self.space)
        scaled = scaled or kernel.scaled_to(observed)
        unseen = [group for group in groups_of(observed) if group not in scaled.groups]
        if unseen:
            raise InvalidInputError(
                "expected graphs like those the kernel is scaled to (the graphs of the space, if "
                f"one is given), got graphs with {' and '.join(unseen).replace('_', ' ')}"
            )
        return scaled

    def _chosen(
        self, graphs: Sequence[Graph], y: FloatArray, to_beat: BoolArray | None
    ) -> tuple[IntArray, int | None]:
        """Positions of the observations used for the model, and the number of labels."""
        most, everything = self.most_observations, np.arange(len(y))
        if most is None or len(y) <= most:
            return everything, self.n_labels
        counts = count(graphs, self.n_labels, pairs=False)
        if is_linear(self.kernel):
            n_types = 1
            if self.kernel.labelled:
                n = counts.n_labels
                n_types = n * n if graphs[0].directed else n * (n + 1) // 2
            n_coordinates = n_types * counts.lengths.shape[1] + counts.features.shape[1]
            if n_coordinates <= MOST_COORDINATES:
                return everything, self.n_labels
        return representative(counts, y, most, to_beat), counts.n_labels

    # -- as an estimator of scikit-learn ----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """The constructor arguments, as ``sklearn.base.clone`` needs them."""
        return {name: self._given[name] for name in signature(GraphGP).parameters}

    def set_params(self, **params: Any) -> GraphGP:
        """Change some arguments; returns self, which then has to be fitted again."""
        known = list(signature(GraphGP).parameters)
        for name in params:
            if name not in known:
                raise InvalidInputError(
                    f"GraphGP has no parameter {name!r:.60}; known are {', '.join(known)}"
                )
        if params:  # nothing changes if one of them is refused
            self.__dict__ = GraphGP(**{**self.get_params(), **params}).__dict__
        return self

    def score(
        self, graphs: Sequence[Graph], y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Share of the variance of y that the posterior mean explains: R², at most 1."""
        values = checked_observations(graphs, y)
        weights = np.ones(len(values)) if sample_weight is None else np.array(sample_weight, float)
        mean = self.predict(graphs, return_std=False)
        missed = float(weights @ (values - mean) ** 2)
        total = float(weights @ (values - np.average(values, weights=weights)) ** 2)
        if total > 0:
            return 1.0 - missed / total
        return 1.0 if missed == 0 else 0.0

    def __sklearn_is_fitted__(self) -> bool:
        return self._posterior is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(two_d_array=False),
            no_validation=True,
        )

    @property
    def posterior(self) -> Posterior:
        """The fitted posterior: in weight space for SSP and SP, in function space otherwise."""
        if self._posterior is None:
            raise FitError("this GraphGP has no data yet; call fit(graphs, y) first")
        return self._posterior

    @property
    def clipped(self) -> tuple[int, ...]:
        """Positions of the observations whose values were clipped (``clip``)."""
        return self._clipped

    @property
    def suspicious(self) -> tuple[int, ...]:
        """Positions of the observations that all others contradict, with ``noise="robust"``."""
        return self._suspicious

    @property
    def capped(self) -> tuple[int, ...]:
        """Positions of the observations whose values were capped (``cap``)."""
        return self._capped

    @property
    def used(self) -> IntArray:
        """Positions of the observations used by the model (``most_observations``)."""
        if self._posterior is None:
            raise FitError("this GraphGP has no data yet; call fit(graphs, y) first")
        return self._used

    @property
    def hyperparameters(self) -> dict[str, float]:
        """Fitted ``alpha``, ``beta`` and ``noise``, and the kernel's own hyperparameters."""
        model = self.posterior.model
        own = {name: float(getattr(model.kernel, name)) for name in model.kernel.hyperparameters()}
        return {"alpha": model.alpha, "beta": model.beta, "noise": model.noise, **own}

    def describe(self) -> str:
        """The fitted model in words: the most important counts, and the share of noise."""
        model = self.posterior.model
        fit = in_words(self.kernel, self.hyperparameters, model.counts.n_labels)
        which = [] if len(self._used) == self._n_observations else [self.uses]
        return " ".join([fit, *_own_noise_in_words(model), *which])

    @property
    def uses(self) -> str:
        """One sentence on how many observations the model uses, and which."""
        return used_in_words(len(self.used), self._n_observations)

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood of the standardised observations at the fitted values."""
        if self._posterior is None:
            raise FitError("this GraphGP has no data yet; call fit(graphs, y) first")
        return self._likelihood

    def predict(
        self, graphs: Sequence[Graph], return_std: bool = True
    ) -> tuple[FloatArray, FloatArray] | FloatArray:
        """Posterior mean, and standard deviation of the noise-free function, of each graph."""
        model = self.posterior.model
        queries = self._count(graphs, None)
        if graphs[0].directed != self._directed:
            kinds = ("undirected", "directed")
            raise InvalidInputError(
                f"expected {kinds[self._directed]} graphs like the fitted ones, "
                f"got {kinds[not self._directed]} ones"
            )
        if queries.n_extra != model.counts.n_extra:
            raise InvalidInputError(
                f"expected graphs with {model.counts.n_extra} features like the fitted ones, "
                f"got {queries.n_extra} features"
            )
        if queries.n_edge_labels and not model.kernel.edge_labelled:
            raise InvalidInputError(
                "expected graphs without edge labels like the fitted ones, got edge labels up to "
                f"{queries.n_edge_labels}"
            )
        with threadpool_limits(1):
            mean, std = self.posterior.mean_std(queries)
        return (mean, std) if return_std else mean


@lru_cache(maxsize=16)
def scaled_to_space(kernel: RBF, space: GraphSpace) -> RBF | None:
    """The kernel scaled to random graphs of the space, always the same ones.

    ``None`` if too few can be drawn in two seconds.
    """
    n_numbers = space.n_max * space.n_labels**2
    n_graphs = int(np.clip(_TYPICAL_NUMBERS // n_numbers, 2, _TYPICAL_GRAPHS))
    try:
        graphs = space.sample(n_graphs, deadline=time.monotonic() + _TYPICAL_SECONDS)
    except SamplingError as error:
        graphs = list(error.graphs)
        logger.info("length scales are measured with %d random graphs: %s", len(graphs), error)
    if len(graphs) < min(n_graphs, _TYPICAL_GRAPHS // 10):
        return None
    return kernel.scaled_to(count(graphs, space.n_labels, edges=True))


def in_words(kernel: Kernel, hyperparameters: Mapping[str, float], n_labels: int) -> str:
    """The text of `GraphGP.describe`."""
    own = kernel.hyperparameters()
    if isinstance(kernel, RBF) and not kernel.scales:  # it compares the groups with length scales
        groups = [group for group in kernel.groups if f"length_{group}" in hyperparameters]
        kernel = replace(kernel, scales=tuple((group, 1.0) for group in groups))
    fitted = kernel.with_hyperparameters(
        {name: hyperparameters[name] for name in own if name in hyperparameters}
    )
    noise = 100 * hyperparameters["noise"]
    return " ".join(
        [
            *fitted.in_words(n_labels),
            f"The model treats {noise:.2g} % of the variance of the observed values as noise.",
        ]
    )


def _own_noise_in_words(model: FittedModel) -> list[str]:
    if model.own_noise is None:
        return []
    own = model.own_noise[model.own_noise > 0]
    return [
        f"In addition, {len(own)} of {len(model.y)} observations have a noise of their own, "
        f"{100 * float(np.median(own)):.2g} % in the median."
    ]
