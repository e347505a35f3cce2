"""BoGrape's kernels in GPyTorch, its posterior in BoTorch, BoTorch's acquisitions over graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bogrape import Graph, GraphGP, GraphSpace
from bogrape.constraints import DegreeRange
from bogrape.errors import InvalidInputError, UnsupportedError
from own_parts import Gaussian

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings("ignore"),  # BoTorch asks for input scaled to the unit cube
]
REASON = "needs BoTorch: pip install 'bogrape[botorch]'"
torch = pytest.importorskip("torch", reason=REASON)
gpytorch = pytest.importorskip("gpytorch", reason=REASON)
botorch = pytest.importorskip("botorch", reason=REASON)

from botorch.acquisition import (  # noqa: E402
    ExpectedImprovement,
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.analytic import (  # noqa: E402
    LogProbabilityOfImprovement,
    PosteriorStandardDeviation,
)
from botorch.fit import fit_gpytorch_mll  # noqa: E402
from botorch.models import SingleTaskGP  # noqa: E402
from gpytorch.mlls import ExactMarginalLogLikelihood  # noqa: E402

from bogrape.integrations.botorch import (  # noqa: E402
    CountTensors,
    GraphGPModel,
    optimize_acqf_graph,
)
from bogrape.integrations.gpytorch import (  # noqa: E402
    ShortestPathKernel,
    covariance,
    covariance_of,
)

SPACE = GraphSpace((4, 6), labels=3, features=1)
GRAPHS = SPACE.sample(24, seed=1)
Y = np.array([g.n_edges + 0.5 * g.labels.sum() - g.features.sum() for g in GRAPHS], dtype=float)
NAMES = ["ssp", "sp", "essp", "esp", "rbf"]
SMALL = GraphSpace(4, labels=2, rules=[DegreeRange(maximum=2)])
EVERY = SMALL.enumerate()
SEEN = EVERY[::6]
SEEN_Y = np.array([g.n_edges - 0.7 * g.labels.sum() for g in SEEN], dtype=float)


def small_model(kernel: Any = "sp", sign: float = 1.0) -> Any:
    gp = GraphGP(kernel, noise=1e-2, space=SMALL, restarts=1).fit(SEEN, sign * SEEN_Y)
    return GraphGPModel(gp, SMALL)


# -- tensors and kernels --------------------------------------------------------------------------


def test_counts_are_read_back_from_rows() -> None:
    space = GraphSpace((2, 5), labels=2, features=2, edge_labels=3, directed=True)
    graphs = space.sample(9, seed=0)
    tensors = CountTensors(space)
    rows = tensors(graphs)
    assert rows.shape == (9, tensors.width)
    assert rows.dtype == torch.double
    again = tensors.counts(rows)
    for name in ("sizes", "lengths", "features", "pairs", "edges"):
        part = torch.from_numpy(getattr(again, name)).double().reshape(9, -1)
        assert torch.equal(part, rows[:, tensors.columns[name]])
    for bad in (rows[:, 1:], rows + 0.5):
        with pytest.raises(InvalidInputError, match="expected rows of"):
            tensors.counts(bad)
    with pytest.raises(InvalidInputError, match="at most 5 nodes"):
        tensors([Graph(np.zeros((6, 6)), features=np.zeros((6, 2)), directed=True)])
    with pytest.raises(InvalidInputError, match="with 2 features"):
        tensors([Graph(np.zeros((3, 3)), directed=True)])


@pytest.mark.parametrize("name", NAMES)
def test_gpytorch_reproduces_our_posterior(name: str) -> None:
    """At the fitted hyperparameters, to 1e-8 of a standard deviation of the values."""
    gp = GraphGP(name, noise=0.05, space=SPACE, restarts=1).fit(GRAPHS[:16], Y[:16])  # type: ignore[arg-type]
    fitted = gp.posterior.model
    tensors = CountTensors(SPACE)
    x, y = tensors(GRAPHS[:16]), torch.from_numpy(fitted.y.copy())

    class Exact(gpytorch.models.ExactGP):  # type: ignore[name-defined, misc]
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = covariance_of(gp, tensors)

        def forward(self, rows: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(rows), self.covar_module(rows)
            )

    noise = torch.full((16,), fitted.noise, dtype=torch.double)
    model = Exact(gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noise)).double().eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        found = model(tensors(GRAPHS[16:]))
        mean, std = found.mean.numpy(), found.variance.sqrt().numpy()
    ours = gp.posterior.standard_mean_std(tensors.counts(tensors(GRAPHS[16:])))
    np.testing.assert_allclose(mean, ours[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(std, ours[1], rtol=0, atol=1e-8)
    mean, std = GraphGPModel(gp, SPACE).posterior(tensors(GRAPHS[16:])[:, None]), None
    predicted = gp.predict(GRAPHS[16:])
    np.testing.assert_allclose(mean.mean.flatten().numpy(), predicted[0], rtol=1e-12)
    np.testing.assert_allclose(mean.variance.sqrt().flatten().numpy(), predicted[1], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradients_agree_with_finite_differences(name: str) -> None:
    tensors = CountTensors(SPACE)
    x = tensors(GRAPHS[:6])
    kernel = covariance(tensors, name, 1.3, 0.7)  # type: ignore[arg-type]
    weights = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 6)))
    named = dict(kernel.named_parameters())
    assert len(named) == 2  # two amplitudes, or an amplitude and the length scales

    class Total(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, rows: Any) -> Any:
            return (self.kernel(rows).to_dense() * weights).sum()

    def total(*values: Any) -> Any:
        given = {f"kernel.{n}": value for n, value in zip(named, values, strict=True)}
        return torch.func.functional_call(Total(), given, (x,))

    values = tuple(p.detach().clone().requires_grad_() for p in named.values())
    assert torch.autograd.gradcheck(total, values)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_work_in_batches_and_on_diagonals(name: str) -> None:
    kernel = covariance(CountTensors(SPACE), name)  # type: ignore[arg-type]
    x = CountTensors(SPACE)(GRAPHS).reshape(2, 3, 4, -1)
    whole = kernel(x).to_dense()
    torch.testing.assert_close(kernel(x, diag=True), whole.diagonal(dim1=-2, dim2=-1))
    torch.testing.assert_close(
        kernel(x[1, 2], x[0, 1]).to_dense(), kernel(x[0, 1], x[1, 2]).to_dense().T
    )
    torch.testing.assert_close(whole[1, 2], kernel(x[1, 2]).to_dense())


def test_the_kernel_distinguishes_edge_labels_and_directions() -> None:
    space = GraphSpace(4, labels=2, edge_labels=2, directed=True)
    graphs = space.sample(10, seed=3)
    gp = GraphGP("rbf", space=space, noise=0.1, restarts=1).fit(graphs, np.arange(10.0))
    model, tensors = gp.posterior.model, CountTensors(space)
    found = covariance_of(gp, tensors)(tensors(graphs)).to_dense().detach().numpy()
    np.testing.assert_allclose(found, model.cross(model.counts), atol=1e-12)


def test_botorch_fits_its_own_model_with_our_kernel() -> None:
    tensors = CountTensors(SPACE)
    x, y = tensors(GRAPHS), torch.from_numpy(Y)[:, None]
    model = SingleTaskGP(x, y, covar_module=covariance(tensors, "sp"))
    mll = ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    before = float(mll(model(*model.train_inputs), model.train_targets))
    fit_gpytorch_mll(mll)
    model.train()
    assert float(mll(model(*model.train_inputs), model.train_targets)) > before
    small = CountTensors(SMALL)
    model = SingleTaskGP(
        small(SEEN), torch.from_numpy(SEEN_Y)[:, None], covar_module=covariance(small, "rbf")
    )
    acq = LogExpectedImprovement(model, best_f=float(SEEN_Y.max()))
    found = optimize_acqf_graph(acq, SMALL, encode=small, exclude=SEEN)
    assert found.status == "optimal"
    assert found.values[0] == pytest.approx(best_by_hand(acq, small, SEEN)[0], abs=1e-6)


# -- the model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["sp", "esp", "rbf", Gaussian(0.4)])
def test_the_posterior_of_several_graphs_is_joint(kernel: Any) -> None:
    """Compared with the formula for the covariance of several queries."""
    model = small_model(kernel)
    fitted = model.fitted
    rows = model.tensors(EVERY[:12]).reshape(4, 3, -1)
    found = model.posterior(rows)
    counts = model.tensors.counts(rows.reshape(12, -1))
    k = fitted.cross(counts)
    weights = np.linalg.solve(fitted.covariance(), k.T)
    prior = np.stack([model._prior_of(part).astype(float) for part in rows])
    expected = prior - np.stack(
        [k[3 * b : 3 * b + 3] @ weights[:, 3 * b : 3 * b + 3] for b in range(4)]
    )
    covariance = found.distribution.covariance_matrix.numpy() / fitted.y_scale**2
    np.testing.assert_allclose(covariance, expected, atol=1e-8)
    np.testing.assert_allclose(
        found.mean[..., 0].numpy().ravel(),
        fitted.in_units(k @ np.linalg.solve(fitted.covariance(), fitted.y), k[:, 0])[0],
        atol=1e-8,
    )
    noisy = model.posterior(rows, observation_noise=True).variance - found.variance
    assert torch.allclose(noisy, torch.full_like(noisy, fitted.noise * fitted.y_scale**2))
    assert found.rsample(torch.Size([5])).shape == (5, 4, 3, 1)


def test_models_of_other_spaces_are_refused() -> None:
    gp = GraphGP("sp", n_labels=3).fit(GRAPHS, Y)
    with pytest.raises(InvalidInputError, match=r"try GraphGP\(space=space\)"):
        GraphGPModel(gp, SMALL)
    with pytest.raises(InvalidInputError, match="output_indices"):
        small_model().posterior(CountTensors(SMALL)(SEEN)[:, None], output_indices=[1])


# -- acquisition functions over graphs ------------------------------------------------------------


def best_by_hand(acq: Any, encode: Any, exclude: list[Graph]) -> tuple[float, list[float]]:
    """The largest acquisition value of all graphs of the small space that are not excluded."""
    taken = {SMALL.identity(graph) for graph in exclude}
    graphs = [graph for graph in EVERY if SMALL.identity(graph) not in taken]
    with torch.no_grad():
        values = acq(encode(graphs)[:, None, :]).tolist()
    return max(values), values


def analytic(model: Any, maximize: bool) -> list[Any]:
    best = SEEN_Y.max() if maximize else SEEN_Y.min()
    options = {"maximize": maximize}
    return [
        LogExpectedImprovement(model, best_f=best, **options),
        ExpectedImprovement(model, best_f=best + 0.3, **options),
        UpperConfidenceBound(model, beta=2.0, **options),
        PosteriorMean(model, **options),
        ProbabilityOfImprovement(model, best_f=best, **options),
        LogProbabilityOfImprovement(model, best_f=best, **options),
    ]


@pytest.mark.parametrize("kernel", ["ssp", "sp", "esp", "rbf", Gaussian(0.4)])
@pytest.mark.parametrize("maximize", [True, False])
def test_analytic_functions_are_maximised_exactly(kernel: Any, maximize: bool) -> None:
    model = small_model(kernel)
    for acq in [*analytic(model, maximize), PosteriorStandardDeviation(model)]:
        found = optimize_acqf_graph(acq, SMALL, exclude=SEEN, time_limit=120)
        best, _ = best_by_hand(acq, model.tensors, SEEN)
        assert found.status == "optimal", type(acq).__name__
        assert found.values[0] == pytest.approx(best, abs=1e-6), type(acq).__name__
        assert found.bounds[0] >= best - 1e-6
        assert SMALL.contains(found.graphs[0])
        assert not {SMALL.identity(g) for g in found.graphs} & set(map(SMALL.identity, SEEN))


def test_bounds_hold_if_a_proof_is_not_finished() -> None:
    space = GraphSpace(9, labels=3)
    graphs = space.sample(15, seed=2)
    gp = GraphGP("sp", space=space).fit(graphs, [float(g.n_edges) for g in graphs])
    model = GraphGPModel(gp, space)
    acq = UpperConfidenceBound(model, beta=4.0, maximize=False)
    found = optimize_acqf_graph(acq, space, time_limit=6)
    assert found.status in ("time_limit", "optimal")
    others = space.sample(200, seed=5)
    with torch.no_grad():
        values = acq(model.tensors(others)[:, None, :])
    assert float(values.max()) <= found.bounds[0] + 1e-9
    assert found.values[0] <= found.bounds[0] < math.inf


@pytest.mark.parametrize(
    "make",
    [
        lambda m: qLogExpectedImprovement(m, best_f=float(SEEN_Y.max())),
        lambda m: qLogNoisyExpectedImprovement(
            m, X_baseline=m.tensors(SEEN), prune_baseline=False, cache_root=False
        ),
        lambda m: qUpperConfidenceBound(m, beta=2.0),
    ],
)
def test_monte_carlo_functions_give_a_batch_of_different_graphs(make: Any) -> None:
    model = small_model()
    torch.manual_seed(0)
    acq = make(model)
    pending = acq.X_pending
    found = optimize_acqf_graph(acq, SMALL, q=3, exclude=SEEN, time_limit=120)
    assert found.status == "optimal"  # all graphs were evaluated
    assert len({SMALL.identity(graph) for graph in found.graphs}) == 3
    assert found.X.shape == (3, model.tensors.width)
    assert acq.X_pending is pending
    first, _ = best_by_hand(acq, model.tensors, SEEN)
    assert found.values[0] == pytest.approx(first, abs=1e-6)
    acq.set_X_pending(found.X[:1])
    second, _ = best_by_hand(acq, model.tensors, [*SEEN, found.graphs[0]])
    assert found.values[1] == pytest.approx(second, abs=1e-6)


def test_large_spaces_are_searched_and_nothing_is_claimed() -> None:
    space = GraphSpace(10, labels=3)
    graphs = space.sample(12, seed=2)
    gp = GraphGP("ssp", space=space, noise=1e-2).fit(graphs, [float(g.n_edges) for g in graphs])
    model = GraphGPModel(gp, space)
    acq = qUpperConfidenceBound(model, beta=2.0)
    found = optimize_acqf_graph(acq, space, time_limit=10, n_evaluations=2000)
    assert found.status == "heuristic"
    assert found.bounds == (math.inf,)
    with torch.no_grad():
        assert found.values[0] > float(acq(model.tensors(space.sample(50))[:, None, :]).max())


def test_mistakes_are_explained() -> None:
    model = small_model()
    with pytest.raises(UnsupportedError, match="try q=1, or a Monte Carlo version"):
        optimize_acqf_graph(PosteriorMean(model), SMALL, q=2)
    with pytest.raises(InvalidInputError, match="expected an acquisition function of BoTorch"):
        optimize_acqf_graph(lambda x: x, SMALL)
    small = CountTensors(SMALL)
    other = SingleTaskGP(small(SEEN), torch.from_numpy(SEEN_Y)[:, None])
    with pytest.raises(InvalidInputError, match=r"pass CountTensors\(space\)"):
        optimize_acqf_graph(PosteriorMean(other), SMALL)
    with pytest.raises(UnsupportedError, match="is not available for GPyTorch"):
        ShortestPathKernel(small, Gaussian(0.4))
