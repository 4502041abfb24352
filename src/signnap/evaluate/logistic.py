"""Logistic regression as a second opinion: no seed, no early stopping, one strength chosen on validation."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch

from ..graph import SparseFeatures
from ..graph.arrays import Array
from ..rows import Embeddings
from .parts import balanced_accuracy, labelled_parts

#: Inverse strengths of the L2 penalty: half powers of ten from 0.01 to 10,000.
GRID = tuple(10 ** (k / 2) for k in range(-4, 9))
_MOST_ITERATIONS = 2000  # measured: about 220 at most, on 20,000 rows of 8,415 features
_PATIENCE = 3  # on 20,000 rows of 512 numbers the four weakest penalties of the grid took four fifths of the time
_TOLERANCE = 1e-6  # at scikit-learn's 1e-4 a warm start passes for converged and every larger C is a copy


@dataclass(frozen=True)
class LogisticResult:
    """The chosen classifier; accuracies are shares in [0, 1], and ``c`` is the inverse strength of its penalty.

    ``balanced_accuracy`` is the mean over classes of their shares of right answers among the test nodes.
    """

    test_accuracy: float
    balanced_accuracy: float
    val_accuracy: float
    c: float


def logistic_probe(
    embeddings: Embeddings | Array, y: Array | None, train: Array, val: Array, test: Array
) -> LogisticResult:
    """Fit multinomial logistic regression along the grid of C and keep the best validation accuracy.

    On a tie the smaller C (the stronger penalty) wins, and the test part is looked at once, by the chosen one. After
    three in a row that over-fit no weaker penalty is tried: fewer validation nodes are right than with the best, and
    their classes are less likely than with the likeliest. The first alone would end many a search among the strongest
    penalties, where accuracy goes up and down by a node or two while the likelihood still rises.

    Rows are scaled to unit length, not columns to unit variance: cosine is what embeddings are compared by, a column
    that is nearly constant is not blown up, and sparse features stay sparse.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    parts = labelled_parts(embeddings, y, train, val, test)
    x_train, x_val, x_test = (_unit_rows(part.x) for part in (parts.train, parts.val, parts.test))
    y_train, y_val, y_test = (part.y.cpu().numpy() for part in (parts.train, parts.val, parts.test))
    # Each fit starts where the last, more strongly penalised one ended, which saves most of its iterations.
    model = LogisticRegression(max_iter=_MOST_ITERATIONS, tol=_TOLERANCE, warm_start=True)
    best_accuracy, best_c, predicted, likeliest, worse = -1.0, 0.0, y_test, -inf, 0
    with warnings.catch_warnings():
        # A fit cut short at the weak end of the grid is a valid candidate all the same: validation judges it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for c in GRID:
            accuracy = float(model.set_params(C=c).fit(x_train, y_train).score(x_val, y_val))
            likelihood = _log_likelihood(model, x_val, y_val)
            likeliest = max(likelihood, likeliest)
            worse = worse + 1 if accuracy < best_accuracy and likelihood < likeliest else 0
            if worse == _PATIENCE:
                break
            if accuracy > best_accuracy:
                best_accuracy, best_c, predicted = accuracy, c, model.predict(x_test)
    right = torch.from_numpy(predicted == y_test)
    balanced = float(balanced_accuracy(right, torch.from_numpy(y_test)))
    return LogisticResult(float(right.double().mean()), balanced, best_accuracy, best_c)


def _log_likelihood(model: Any, x: Any, y: np.ndarray) -> float:
    """Of the true classes, as far as the model has seen them."""
    return float(model.predict_log_proba(x)[y[:, None] == model.classes_].sum())


def _unit_rows(x: Embeddings) -> Any:
    from sklearn.preprocessing import normalize

    return normalize((x.to_scipy() if isinstance(x, SparseFeatures) else x.cpu().numpy()).astype(np.float64))
