r"""The kernels for GPyTorch, over tensors of counts.

Needs GPyTorch: ``pip install 'bogrape[gpytorch]'``. `CountTensors` turns graphs into rows; the
kernels compare rows and are differentiable in their hyperparameters. `covariance` combines
them into the covariance of a `bogrape.GraphGP`, :math:`\alpha k_G + \beta k_F`. See
``docs/integrations/botorch.md``.
"""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError, UnsupportedError
from ..gp import GraphGP, scaled_to_space
from ..groups import path_layers
from ..kernels import RBF, KernelName, get_kernel, is_published
from ..kernels import Kernel as OurKernel
from .missing import missing

try:
    import torch
    from gpytorch.kernels import Kernel, ScaleKernel
except ImportError:
    raise missing("this module", "GPyTorch", "gpytorch") from None

from .count_tensors import CountTensors

__all__ = ["CountTensors", "NodeFeatureKernel", "ShortestPathKernel", "covariance", "covariance_of"]


class ShortestPathKernel(Kernel):
    """A graph kernel between rows of counts.

    The kernel ``"rbf"`` has one length scale per group, in ``lengthscale``, in the order of
    ``kernel.groups``; the others have no hyperparameters. Scale it with ``ScaleKernel``.

    Args:
        tensors: encoder that made the rows.
        kernel: ``"ssp"``, ``"sp"``, ``"essp"``, ``"esp"``, ``"rbf"`` or a scaled `RBF`.
        options: options of ``gpytorch.kernels.Kernel``, such as ``lengthscale_prior``.
    """

    def __init__(
        self, tensors: CountTensors, kernel: KernelName | OurKernel = "rbf", **options: Any
    ) -> None:
        ours = get_kernel(kernel)
        if isinstance(ours, RBF):
            self.has_lengthscale = True
            if not ours.scales:
                scaled = scaled_to_space(ours, tensors.space)
                if scaled is None:
                    raise InvalidInputError(
                        "the space has too few graphs to measure length scales; give "
                        "RBF().scaled_to(count(graphs, edges=True)) as the kernel"
                    )
                ours = scaled
            options.setdefault("ard_num_dims", len(ours.groups))
        elif not is_published(ours):
            raise UnsupportedError(
                f"kernel {ours.name!r} is not available for GPyTorch; expected ssp, sp, essp, esp "
                "or rbf. A fitted GraphGP with any kernel can be a BoTorch model: "
                "bogrape.integrations.botorch.GraphGPModel"
            )
        super().__init__(**options)
        self.tensors = tensors
        self.kernel = ours
        if isinstance(ours, RBF):
            self.double()
            lengths = torch.tensor(list(ours.lengths.values()), dtype=torch.double)
            self.initialize(lengthscale=lengths.expand(*self.batch_shape, 1, len(lengths)))

    def forward(
        self,
        x1: torch.Tensor,
        x2: torch.Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **_: Any,
    ) -> torch.Tensor:
        """Values of each row with each other one, or with itself."""
        if last_dim_is_batch:
            raise UnsupportedError(
                "last_dim_is_batch=True is not supported: a row of counts is one graph"
            )
        if isinstance(self.kernel, RBF):
            return self._gaussian(x1, x2, diag)
        assert is_published(self.kernel)
        linear = _inner(self._paths(x1), self._paths(x2), diag)
        return linear.exp() if self.kernel.exponential else linear

    def _paths(self, x: torch.Tensor) -> torch.Tensor:
        labelled = is_published(self.kernel) and self.kernel.labelled
        part = self.tensors.columns["pairs" if labelled else "lengths"]
        return x[..., part] / x[..., :1] ** 2

    def _gaussian(self, x1: torch.Tensor, x2: torch.Tensor, diag: bool) -> torch.Tensor:
        assert isinstance(self.kernel, RBF)
        exponent: Any = 0.0
        for i, (group, scale) in enumerate(self.kernel.scales):
            squares = _squares(self._group(x1, group), self._group(x2, group), diag)
            length = self.lengthscale[..., 0, i]
            length = length[..., None] if diag else length[..., None, None]
            exponent = exponent - 0.5 * squares / (scale * length**2)
        return torch.as_tensor(exponent).exp()

    def _group(self, x: torch.Tensor, group: str) -> torch.Tensor:
        """The counts of a group, as fractions of pairs or nodes."""
        at, space = self.tensors.columns, self.tensors.space
        n, first = x[..., :1], at["features"].start
        if group == "labels":
            return x[..., first : first + space.n_labels] / n**2
        if group == "features":
            return x[..., first + space.n_labels : at["features"].stop] / n
        if group == "edge_labels":
            return x[..., at["edges"]] / n**2
        layers = torch.from_numpy(path_layers(space.n_max)[group]).to(x)
        pairs = x[..., at["pairs"]].unflatten(-1, (space.n_max, space.n_labels**2))
        return torch.einsum("rs,...sl->...rl", layers, pairs).flatten(-2) / n**2


class NodeFeatureKernel(Kernel):
    """The feature kernel: inner products of the shares of nodes with each label and feature."""

    def __init__(self, tensors: CountTensors, **options: Any) -> None:
        super().__init__(**options)
        self.tensors = tensors

    def forward(
        self,
        x1: torch.Tensor,
        x2: torch.Tensor,
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **_: Any,
    ) -> torch.Tensor:
        """Values of each row with each other one, or with itself."""
        if last_dim_is_batch:
            raise UnsupportedError(
                "last_dim_is_batch=True is not supported: a row of counts is one graph"
            )
        part = self.tensors.columns["features"]
        return _inner(x1[..., part] / x1[..., :1], x2[..., part] / x2[..., :1], diag) / (
            part.stop - part.start
        )


def covariance(
    tensors: CountTensors,
    kernel: KernelName | OurKernel = "rbf",
    alpha: float = 1.0,
    beta: float | None = None,
) -> Any:
    """``alpha k_G + beta k_F`` as scaled kernels, whose amplitudes are fitted as usual.

    ``beta`` is 1 by default; 0 omits the feature kernel. It is always 0 for kernels that compare
    features of nodes themselves.
    """
    graph_kernel = ShortestPathKernel(tensors, kernel)
    out = _scaled(graph_kernel, alpha)
    amplitude = 1.0 if beta is None else beta
    if amplitude and not graph_kernel.kernel.includes_features:
        out = out + _scaled(NodeFeatureKernel(tensors), amplitude)
    return out


def covariance_of(gp: GraphGP, tensors: CountTensors) -> Any:
    """The covariance of a fitted `GraphGP`, for standardised observations."""
    model = gp.posterior.model
    return covariance(tensors, model.kernel, model.alpha, model.beta)


def _scaled(kernel: Any, amplitude: float) -> Any:
    out = ScaleKernel(kernel).double()
    out.outputscale = torch.tensor(amplitude, dtype=torch.double)
    return out


def _inner(a: torch.Tensor, b: torch.Tensor, diag: bool) -> torch.Tensor:
    return (a * b).sum(-1) if diag else a @ b.transpose(-1, -2)


def _squares(a: torch.Tensor, b: torch.Tensor, diag: bool) -> torch.Tensor:
    """Squared distances of rows."""
    if diag:
        return ((a - b) ** 2).sum(-1)
    of_a, of_b = (a**2).sum(-1, keepdim=True), (b**2).sum(-1, keepdim=True)
    return (of_a + of_b.transpose(-1, -2) - 2.0 * a @ b.transpose(-1, -2)).clamp_min(0.0)
