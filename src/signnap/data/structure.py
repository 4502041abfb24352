"""Features made from structure alone, for graphs that come without any."""

from __future__ import annotations

import numpy as np

from ..graph import Pattern

#: Degrees 0, 1–2, 3–6, 7–14, …: bucket b starts at 2^b − 1. Their number is fixed, so that every graph gets the same
#: columns and an encoder trained on one graph can embed another.
_BUCKETS = 16

COLUMNS: tuple[str, ...] = (
    *(f"degree {2**b - 1} to {2 ** (b + 1) - 2}" for b in range(_BUCKETS - 1)),
    f"degree {2 ** (_BUCKETS - 1) - 1} and more",
    "log degree",
    "mean of neighbours' log degree",
    "spread of neighbours' log degree",
    "mean of neighbours' mean",
)


def structural_features(source: np.ndarray, target: np.ndarray, num_nodes: int) -> tuple[np.ndarray, str]:
    """Describe every node by its degree and its neighbours' degrees; the second value says so in words.

    Columns are named by ``COLUMNS``. Endpoints must be valid row numbers; repeats, loops and directions do not
    matter. All values are finite and no row is empty: an isolated node has its bucket and zeros.
    """
    pattern = Pattern.from_pairs(np.asarray(source), np.asarray(target), num_nodes)
    degree = pattern.degree.numpy()
    log_degree = np.log1p(degree)
    adjacency, divisor = pattern.to_scipy().astype(np.float64), np.maximum(degree, 1)

    mean = adjacency @ log_degree / divisor
    # Rounding can push a variance that is zero slightly below it.
    spread = np.sqrt(np.maximum(adjacency @ log_degree**2 / divisor - mean**2, 0))
    second = adjacency @ mean / divisor

    bucket = np.minimum(np.log2(degree + 1).astype(np.int64), _BUCKETS - 1)
    one_hot = np.eye(_BUCKETS)[bucket]
    features = np.column_stack([one_hot, log_degree, mean, spread, second]).astype(np.float32)
    words = f"no features given: using {features.shape[1]} columns on each node's degree and its neighbours' degrees"
    return features, words
