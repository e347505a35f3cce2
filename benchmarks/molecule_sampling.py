"""Speed and diversity of random molecules.

    python -m benchmarks.molecule_sampling

Draws 1000 molecules of QM7 and of QM9 for each size, no two of them isomorphic. Seconds are the
best of two seeds; similarity is the mean Tanimoto similarity over all pairs (Morgan fingerprints,
radius 2); shared is the number of SMILES that the samples of both seeds contain.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

N_SAMPLES = 1000
TARGET_SECONDS = {10: 1.0, 20: 5.0, 30: 20.0}
TARGET_SIMILARITY = 0.12


@dataclass(frozen=True)
class Sampling:
    """Result of sampling one space twice."""

    seconds: float
    similarity: float
    n_smiles: int  # distinct ones; two Kekulé forms of a molecule are two graphs with one
    n_shared: int


def measure(data_set: str, n_atoms: int, n_samples: int = N_SAMPLES) -> Sampling:
    """Sample the molecules of one size with two seeds."""
    from bogrape.molecules import mean_similarity, molecule_space, to_smiles

    space = molecule_space(data_set, n_atoms)
    seconds, samples = [], []
    for seed in (0, 1):
        start = time.perf_counter()
        samples.append(space.sample(n_samples, seed=seed, distinct=True))
        seconds.append(time.perf_counter() - start)
    first, second = ({to_smiles(graph, space) for graph in sample} for sample in samples)
    similarity = max(mean_similarity(sample, space) for sample in samples)
    return Sampling(min(seconds), similarity, len(first), len(first & second))


def main() -> None:
    """Print a table."""
    print(f"{N_SAMPLES} different molecules, mean Tanimoto similarity <= {TARGET_SIMILARITY}")
    for data_set in ("qm7", "qm9"):
        for n, target in TARGET_SECONDS.items():
            found = measure(data_set, n)
            print(
                f"  {data_set} N={n}: {found.seconds:5.2f} s (target {target:g}), similarity "
                f"{found.similarity:.3f}, {found.n_smiles} SMILES, {found.n_shared} shared "
                "between two seeds"
            )


if __name__ == "__main__":
    main()
