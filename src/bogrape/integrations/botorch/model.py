"""`GraphGPModel`: the posterior of a `GraphGP` as a BoTorch model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from botorch.models.model import Model
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator

from ...arrays import FloatArray
from ...errors import InvalidInputError
from ...gp import GraphGP
from ...kernels import RBF, cross_of, feature_cross, is_published
from ...posterior import FittedModel, Posterior, cholesky
from ...space import GraphSpace
from ..count_tensors import CountTensors
from ..gpytorch import covariance


class GraphGPModel(Model):
    """A fitted `GraphGP` as a BoTorch model over rows of counts.

    Means and variances are those that ``gp.predict`` gives, in the units of the observations; the
    posterior of several graphs is joint. Signs are not changed: if the observed values are to be
    minimised, give acquisition functions ``maximize=False``, or fit the `GraphGP` to minus them.

    Args:
        gp: a fitted process, with any kernel.
        space: the graphs to predict. Its `CountTensors` make the rows (`tensors`).
    """

    def __init__(self, gp: GraphGP | Posterior, space: GraphSpace) -> None:
        super().__init__()
        self.tensors = CountTensors(space)
        self.graph_posterior = gp.posterior if isinstance(gp, GraphGP) else gp
        fitted = self.fitted
        theirs = fitted.counts.n_extra, fitted.counts.n_labels
        if theirs[0] != space.n_features or theirs[1] > space.n_labels:
            raise InvalidInputError(
                f"expected a GraphGP for {space.n_labels} labels and {space.n_features} features, "
                f"as the space has them, got one fitted to {theirs[1]} and {theirs[0]}; try "
                "GraphGP(space=space)"
            )
        self._factor: FloatArray | None = None
        self._covariance = None
        if isinstance(fitted.kernel, RBF) or is_published(fitted.kernel):
            self._covariance = covariance(self.tensors, fitted.kernel, fitted.alpha, fitted.beta)
            self._covariance.requires_grad_(False)

    @property
    def fitted(self) -> FittedModel:
        """Hyperparameters and data."""
        return self.graph_posterior.model

    @property
    def num_outputs(self) -> int:
        """Number of outputs: one."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """Empty: this is a single model."""
        return torch.Size([])

    def posterior(
        self,
        X: torch.Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | torch.Tensor = False,
        posterior_transform: Any = None,
    ) -> Any:
        """The joint posterior of each batch of rows, ``(..., q, width)``.

        With ``observation_noise=True``, that of new observations with the noise of the model.
        """
        if output_indices not in (None, [0]):
            raise InvalidInputError(f"expected output_indices=[0], got {output_indices!r}")
        *batch, q, width = X.shape
        counts = self.tensors.counts(X.reshape(-1, width))
        mean, std = self.graph_posterior.mean_std(counts)
        scale = self.fitted.y_scale
        variance = torch.from_numpy(std**2).reshape(*batch, q)
        if q == 1:
            matrix = variance[..., None]
        else:
            matrix = torch.from_numpy(self._joint(X) * scale**2)
            matrix = matrix - torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1))
            matrix = matrix + torch.diag_embed(variance)
        if isinstance(observation_noise, torch.Tensor):
            matrix = matrix + torch.diag_embed(observation_noise.expand(*batch, q, 1)[..., 0])
        elif observation_noise:
            matrix = matrix + self.fitted.noise * scale**2 * torch.eye(q, dtype=torch.double)
        located = torch.from_numpy(mean).reshape(*batch, q)
        # an operator, which is decomposed only when needed, with jitter if necessary
        normal = MultivariateNormal(located.to(X), to_linear_operator(matrix.to(X)))
        found = GPyTorchPosterior(normal)
        return found if posterior_transform is None else posterior_transform(found)

    def _joint(self, X: torch.Tensor) -> FloatArray:
        """Standardised covariances of the rows of each batch, ``(..., q, q)``."""
        from scipy.linalg import solve_triangular

        *batch, q, width = X.shape
        if self._factor is None:
            self._factor = cholesky(self.fitted.covariance())
        counts = self.tensors.counts(X.reshape(-1, width))
        k = self.fitted.cross(counts)
        v = solve_triangular(self._factor, k.T, lower=True).T.reshape(*batch, q, -1)
        return np.asarray(self._prior(X) - v @ np.swapaxes(v, -1, -2))

    def _prior(self, X: torch.Tensor) -> FloatArray:
        if self._covariance is not None:
            with torch.no_grad():
                return np.asarray(self._covariance(X.double()).to_dense().numpy())
        *batch, q, width = X.shape
        parts = [self._prior_of(part) for part in X.reshape(-1, q, width)]
        return np.stack(parts).reshape(*batch, q, q)

    def _prior_of(self, rows: torch.Tensor) -> FloatArray:
        fitted, counts = self.fitted, self.tensors.counts(rows)
        out = fitted.alpha * cross_of(fitted.kernel, counts, counts)
        if fitted.beta:
            out = out + fitted.beta * feature_cross(counts, counts, fitted.n_features)
        return out
