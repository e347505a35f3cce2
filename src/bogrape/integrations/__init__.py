"""BoGrape inside other libraries: one module per library, each loaded only when you import it.

================  ==================================================================================
``.optuna``       a sampler for Optuna studies whose trials have a graph
``.sklearn``      the kernels for `GaussianProcessRegressor`; path counts as a transformer
``.gpytorch``     the kernels for GPyTorch, over tensors of counts
``.botorch``      a BoTorch model; the maximum of an acquisition function over a graph space
``.torch``        an ensemble of neural networks as surrogate
``.ax``           an external generation node for Ax
``.pyg``          graphs to and from PyTorch Geometric
``.igraph``       graphs to and from igraph
``.sparse``       graphs to and from sparse matrices of scipy
================  ==================================================================================

Graphs to and from networkx are methods of `bogrape.Graph`; molecules to and from RDKit are in
`bogrape.molecules`. Each module whose library is missing says in one line how to install it.
"""
