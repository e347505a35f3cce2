r"""The Gaussian process posterior and the acquisition as rows, in two equivalent forms.

With :math:`\varphi_j` the scaled counts of `bogrape.propose.mip.counting`, data ``X`` and ``y``
(standardised), ``K`` the covariance with noise (erratum E6) and the paper's Eq. (1):

==============  ===================================================================================
``mu``          posterior mean, Eq. (1b)
``sigma``       at most the posterior standard deviation, Eq. (1c), to which the objective drives it
objective       ``mu - kappa sigma``, Eq. (1a), standardised like mu and sigma
==============  ===================================================================================
"""

from __future__ import annotations

import math

import numpy as np

from ...arrays import FloatArray
from ...errors import UnsupportedError
from ...kernels import GraphKernel, Kernel, is_published
from ...posterior import FittedModel, WeightPosterior
from .counting import Coordinate
from .linear import Linear, total
from .program import Program
from .scaled import Scaled

Counted = list[tuple[Coordinate, Scaled]]
ENCODED = ("ssp", "sp", "essp", "esp")  # the kernels whose rows are written here


def encodable(kernel: Kernel) -> GraphKernel:
    """The kernel, if the rows below encode it; an error otherwise."""
    if is_published(kernel) and kernel.name in ENCODED:
        return kernel
    raise UnsupportedError(
        f'expected one of the kernels {", ".join(ENCODED)} for method "mip", got {kernel.name!r}, '
        'which has no linear rows; try method="auto", or preset="paper" in a study'
    )


def _parts(model: FittedModel, counted: Counted) -> tuple[FloatArray, FloatArray]:
    r"""Observed :math:`\varphi_j(X_i)` as (T, J), and the prior weight of each coordinate.

    The linear kernels are ``k = sum_j prior_j phi_j phi'_j``, over coordinates that the space has.
    """
    sizes = model.counts.sizes.astype(float)
    observed = np.array([np.array(c.observed(model.counts)) / sizes**c.power for c, _ in counted])
    graph, node = model.alpha, model.beta / model.n_features
    prior = np.array([node if c.key[0] == "N" else graph * c.copies for c, _ in counted])
    return observed.T.reshape(len(sizes), len(counted)), prior


class FunctionForm:
    r"""The posterior over function values, as published: K_xX and K⁻¹.

    Rows, in the order they are added (the ``exp`` rows for ESSP and ESP only, where α stands for
    α/σ_k², erratum E5):

    * ``cross_graph[i]``:  g_i = sum_j copies_j phi_j(X_i) phi_j       (SSP) or (SP), x with X_i
    * ``cross_exp[i]``:    e_i = exp(g_i)                              (ESSP) or (ESP)
    * ``cross[i]``:        k_i = α g_i (or α e_i) + β/M sum_m phi_m(X_i) phi_m
    * ``self_graph``:      g = sum_j copies_j phi_j²                   one-hot counts
    * ``self_exp``:        e = exp(g)
    * ``self``:            kxx = α g (or α e) + β/M sum_m phi_m²       one-hot counts
    * ``mean``:            mu = k' K⁻¹ y                               Eq. (1b)
    * ``variance``:        sigma² + k' K⁻¹ k <= kxx                    Eq. (1c); convex; both sides
      divided by the prior variance, so that tolerances are relative to it

    K⁻¹ has entries up to 1/noise, so the solver's feasibility tolerance is amplified: the value it
    claims may differ from the true one by far more than the tolerance.
    """

    one_hot = True

    def __init__(self, program: Program, model: FittedModel, counted: Counted) -> None:
        self._program = program
        kernel, alpha, beta = encodable(model.kernel), model.alpha, model.beta
        observed, _ = _parts(model, counted)
        graph = [j for j, (c, _) in enumerate(counted) if c.key[0] != "N"]
        nodes = [j for j, (c, _) in enumerate(counted) if c.key[0] == "N" and beta]
        top = alpha * (math.e if kernel.exponential else 1.0) + beta
        k = []
        for i in range(len(model.y)):
            weights = {j: counted[j][0].copies * observed[i, j] for j in graph}
            value = total(weights[j] * counted[j][1].value for j in graph)
            if kernel.exponential:
                g = program.define(f"g[{i}]", f"cross_graph[{i}]", value, 0, 1)
                value = program.exponential(f"e[{i}]", f"cross_exp[{i}]", g, 1, math.e)
            parts = [(beta / model.n_features * observed[i, j], j) for j in nodes]
            both = total([alpha * value, *(c * counted[j][1].value for c, j in parts)])
            k.append(program.define(f"k[{i}]", f"cross[{i}]", both, 0, top))
        value = total(counted[j][0].copies * _square(counted[j][1]) for j in graph)
        if kernel.exponential:
            g = program.define("g", "self_graph", value, 0, 1)
            value = program.exponential("e", "self_exp", g, 1, math.e)
        squares = [beta / model.n_features * _square(counted[j][1]) for j in nodes]
        self.kxx = program.define("kxx", "self", total([alpha * value, *squares]), 0, top)
        inverse = inverse_covariance(model)
        weights_y = inverse @ model.y
        mean = total(float(c) * variable for c, variable in zip(weights_y, k, strict=True))
        self.mu = program.define("mu", "mean", mean, -math.inf, math.inf)
        self.sigma = program.continuous("sigma", 0, math.sqrt(top))
        self._k, self._inverse = k, inverse
        products = [(1.0 / top, self.sigma, self.sigma)]
        for i in range(len(k)):
            products.append((float(inverse[i, i]) / top, k[i], k[i]))
            for j in range(i):
                products.append((2.0 * float(inverse[i, j]) / top, k[i], k[j]))
        program.row("variance", Linear(), "<=", self.kxx * (1.0 / top), products)

    def lift(self, values: dict[str, float]) -> dict[str, float]:
        """``values`` with kernel values, mean and the largest sigma added."""
        out = self._program.completed(values)
        k = np.array([self._program.evaluate(x, out) for x in self._k])
        variance = self._program.evaluate(self.kxx, out) - float(k @ self._inverse @ k)
        out["sigma"] = math.sqrt(max(0.0, variance))
        return out


class WeightForm:
    r"""The posterior over weights: SSP and SP, where ``z_j = sqrt(prior_j) phi_j`` is finite.

    Rows, in the order they are added; ``S = Q diag(e) Q'`` is the posterior covariance of the
    weights (0 <= e <= 1), restricted to the counts the space has:

    * ``mean``:        mu = w' z                           Eq. (1b)
    * ``spread[k]``:   y_k = sqrt(e_k) Q_k' z
    * ``variance``:    sigma² <= sum_k y_k²                Eq. (1c); not convex; both sides divided
      by the prior variance

    Nothing here is larger than the prior, and the number of rows does not grow with the data.
    """

    one_hot = False

    def __init__(self, program: Program, model: FittedModel, counted: Counted) -> None:
        self._program = program
        weights, covariance, prior = weight_space(model, counted)
        scaled = [scaled for _, scaled in counted]
        mean = total(float(w) * s.value for w, s in zip(weights, scaled, strict=True))
        self.mu = program.define("mu", "mean", mean, -math.inf, math.inf)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        roots = np.sqrt(np.clip(eigenvalues, 0.0, 1.0))
        self._y = []
        most = 0.0
        for k, root in enumerate(roots):
            factors = root * vectors[:, k] * np.sqrt(prior)
            if not np.abs(factors).max(initial=0.0) > 1e-9:
                continue
            bounds = np.array([s.bounds for s in scaled]) * factors[:, None]
            low, high = float(bounds.min(axis=1).sum()), float(bounds.max(axis=1).sum())
            spread = total(float(c) * s.value for c, s in zip(factors, scaled, strict=True))
            margin = 1e-6 * (1.0 + high - low)
            self._y.append(
                program.define(f"y[{k}]", f"spread[{k}]", spread, low - margin, high + margin)
            )
            most += max(low * low, high * high)
        top = math.sqrt(min(most, model.alpha + model.beta))
        self.sigma = program.continuous("sigma", 0, top + 1e-6)
        unit = 1.0 / (model.alpha + model.beta)
        products = [(unit, self.sigma, self.sigma), *((-unit, y, y) for y in self._y)]
        program.row("variance", Linear(), "<=", 0, products)

    def lift(self, values: dict[str, float]) -> dict[str, float]:
        """``values`` with mean, spreads and the largest sigma added."""
        out = self._program.completed(values)
        out["sigma"] = math.sqrt(math.fsum(self._program.evaluate(y, out) ** 2 for y in self._y))
        return out


def _square(scaled: Scaled) -> Linear:
    if scaled.square is None:
        raise ValueError("K_xx needs one-hot counts")
    return scaled.square


def inverse_covariance(model: FittedModel) -> FloatArray:
    """``K⁻¹``, by Newton's iteration in extended precision.

    A plain inverse has errors of about 1e-3 if its entries are 1e6, which is too much for the rows.
    """
    K = model.covariance()
    exact = K.astype(np.longdouble)
    inverse = np.linalg.inv(K).astype(np.longdouble)
    identity = np.eye(len(K), dtype=np.longdouble)
    for _ in range(3):
        inverse = inverse + inverse @ (identity - exact @ inverse)
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)


def weight_space(model: FittedModel, counted: Counted) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Mean weights over :math:`\varphi`, posterior covariance over z, and the prior weights.

    `WeightPosterior` has one coordinate for each length and ordered pair of labels that occur in
    the data; here each count of the space has one, also for unseen lengths and labels.
    """
    posterior = WeightPosterior(model)
    _, prior = _parts(model, counted)
    shape = posterior.path_shape
    n_paths = math.prod(shape)
    root = np.zeros((posterior.basis.shape[1], len(counted)))  # z_full = root @ phi
    for j, (coordinate, _) in enumerate(counted):
        for position in _positions(coordinate, shape, model, n_paths):
            node = coordinate.key[0] == "N"
            root[position, j] = math.sqrt(model.beta / model.n_features if node else model.alpha)
    along = posterior.basis @ root
    lost = along.T @ ((1.0 - posterior.shrink)[:, None] * along)
    scale = np.sqrt(np.where(prior > 0, prior, 1.0))
    covariance = np.diag((prior > 0).astype(float)) - lost / np.outer(scale, scale)
    return posterior.weights @ root, covariance, prior


def _positions(
    coordinate: Coordinate, shape: tuple[int, ...], model: FittedModel, n_paths: int
) -> list[int]:
    kind, *index = coordinate.key
    if kind == "N":
        if not model.beta:
            return []
        n_labels, n_columns = model.counts.n_labels, model.counts.features.shape[1]
        column = index[0] if index[0] >= 0 else n_columns + index[0]
        known = column < n_labels if index[0] >= 0 else True
        return [n_paths + column] if known else []
    if any(i >= m for i, m in zip(index, shape, strict=True)):
        return []
    spots = [tuple(index)]
    if coordinate.copies == 2:
        s, a, b = index
        spots.append((s, b, a))
    return [int(np.ravel_multi_index(spot, shape)) for spot in spots]
