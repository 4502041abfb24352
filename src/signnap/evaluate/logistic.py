"""The logistic probe: regression without seed and early stopping, its penalty chosen on validation nodes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch

from ..graph import SparseFeatures
from ..graph.arrays import Array
from .inputs import Embeddings, balanced_accuracy, labelled_parts

#: Inverse strengths C of the L2 penalty: half powers of ten from 0.01 to 10,000.
GRID = tuple(10 ** (k / 2) for k in range(-4, 9))
_MOST_ITERATIONS = 2000  # 20,000 rows of 8,415 features needed about 220
_PATIENCE = 3  # saves time: on 20,000 rows of 512 numbers, the four weakest penalties took four fifths of it
_TOLERANCE = 1e-6  # at scikit-learn's 1e-4, a warm start counts as converged, and all larger C give the same model


@dataclass(frozen=True)
class LogisticResult:
    """The chosen classifier. Accuracies lie in [0, 1], and ``c`` is the inverse strength of its penalty.

    ``balanced_accuracy`` is the mean over classes of the accuracy on the test nodes of the class.
    """

    test_accuracy: float
    balanced_accuracy: float
    val_accuracy: float
    c: float


def logistic_probe(
    embeddings: Embeddings | Array, y: Array | None, train: Array, val: Array, test: Array
) -> LogisticResult:
    """Fit multinomial logistic regression for each C of the grid, and keep the best validation accuracy.

    On a tie the smaller C (the stronger penalty) wins. Only the chosen classifier reads the test nodes. The search ends
    after three values of C in a row whose validation accuracy and likelihood are both below the best ones. Accuracy
    alone would end many searches too early: under strong penalties it goes up and down by a node or two while the
    likelihood still rises.

    Rows are scaled to unit length. Embeddings are compared by cosine, a nearly constant column does not gain weight as
    it would by scaling columns to unit variance, and sparse features stay sparse.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    parts = labelled_parts(embeddings, y, train, val, test)
    x_train, x_val, x_test = (_unit_rows(part.x) for part in (parts.train, parts.val, parts.test))
    y_train, y_val, y_test = (part.y.cpu().numpy() for part in (parts.train, parts.val, parts.test))
    # Each fit starts from the weights of the previous C, which saves most of its iterations.
    model = LogisticRegression(max_iter=_MOST_ITERATIONS, tol=_TOLERANCE, warm_start=True)
    best_accuracy, best_c, predicted, likeliest, worse = -1.0, 0.0, y_test, -inf, 0
    with warnings.catch_warnings():
        # A fit that reaches the limit of iterations is still a valid candidate: validation decides.
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
    """The log-likelihood of the true classes, apart from classes that no training node has."""
    return float(model.predict_log_proba(x)[y[:, None] == model.classes_].sum())


def _unit_rows(x: Embeddings) -> Any:
    from sklearn.preprocessing import normalize

    return normalize((x.to_scipy() if isinstance(x, SparseFeatures) else x.cpu().numpy()).astype(np.float64))
