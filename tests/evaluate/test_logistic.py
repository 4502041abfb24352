"""Logistic regression against an independent minimiser of its stated objective."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import torch
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import balanced_accuracy_score

from signnap.evaluate import logistic, logistic_probe, score
from signnap.evaluate.logistic import GRID
from signnap.graph import SparseFeatures


def clouds(n=240, d=5, *, rows=60, noise=1.0, shift=0.0):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    z = rng.normal(size=(3, d))[y] + noise * rng.normal(size=(n, d)) + shift
    order = torch.from_numpy(rng.permutation(n))
    return torch.from_numpy(z).float(), torch.from_numpy(y), order[:rows], order[rows : rows + 60], order[rows + 60 :]


def slow_predictions(z, y, train, c):
    """argmin of C·Σ NLL + ½‖W‖² on unit rows (the bias is not penalised), predicted for every node."""
    x = z.double().numpy()
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    a, labels = x[train.numpy()], y[train].numpy()

    def objective(flat):
        weights, bias = flat[:-3].reshape(-1, 3), flat[-3:]
        logs = log_softmax(a @ weights + bias, axis=1)
        error = np.exp(logs) - np.eye(3)[labels]
        loss = -c * logs[np.arange(len(a)), labels].sum() + 0.5 * (weights**2).sum()
        return loss, np.concatenate([(c * a.T @ error + weights).ravel(), c * error.sum(axis=0)])

    flat = minimize(objective, np.zeros(3 * a.shape[1] + 3), jac=True, options={"gtol": 1e-7, "maxiter": 5000}).x
    return (x @ flat[:-3].reshape(-1, 3) + flat[-3:]).argmax(axis=1)


def slow_choice(z, y, train, val, test):
    """The best validation accuracy, with its C and its test accuracy."""
    found = []
    for c in GRID:
        right = slow_predictions(z, y, train, c) == y.numpy()
        found.append((right[val.numpy()].mean(), -c, right[test.numpy()].mean()))
    val_accuracy, minus_c, test_accuracy = max(found)
    return val_accuracy, -minus_c, test_accuracy


def test_the_choice_and_the_accuracy_are_those_of_the_slow_search():
    data = clouds()
    result = logistic_probe(*data)
    assert (result.val_accuracy, result.c, result.test_accuracy) == pytest.approx(slow_choice(*data))
    z, y, train, _, test = data
    predicted = slow_predictions(z, y, train, result.c)[test.numpy()]
    assert result.balanced_accuracy == pytest.approx(balanced_accuracy_score(y[test], predicted))


def test_weak_penalties_are_fitted_to_the_end():
    """Rows that point nearly one way have tiny gradients: a fit that stops early would copy a stronger penalty's."""
    data = clouds(n=1680, rows=1500, shift=1000.0)
    result = logistic_probe(*data)
    assert (result.val_accuracy, result.c, result.test_accuracy) == pytest.approx(slow_choice(*data), abs=0.01)


def test_ties_go_to_the_smallest_c():
    z, y, train, val, test = clouds(noise=0.01)
    perfect = [c for c in GRID if (slow_predictions(z, y, train, c) == y.numpy())[val.numpy()].all()]
    assert len(perfect) > 5
    result = logistic_probe(z, y, train, val, test)
    assert (result.val_accuracy, result.c) == (1, perfect[0])


@pytest.mark.parametrize(
    ("accuracies", "likelihoods", "tried", "best"),
    [
        ([5, 6, 5, 5, 5, 9], [1, 3, 2, 2, 2, 1], 5, 1),  # three in a row over-fit: the search ends
        ([5, 6, 5, 5, 7, 6, 6, 6, 9], [9] + 8 * [1], 8, 4),
        ([5, 5, 5, 5, 5, 4, 4, 5, 4, 4, 4, 9], [9] + 11 * [1], 11, 0),  # an equal accuracy is not lower
        ([5, 6, 5, 5, 5, 5, 9, *(6 * [6])], [*range(7), *(6 * [1])], 10, 6),  # a higher likelihood is no over-fitting
        ([*range(len(GRID))], len(GRID) * [1], len(GRID), len(GRID) - 1),
    ],
)
def test_the_grid_ends_after_three_that_over_fit(accuracies, likelihoods, tried, best, monkeypatch):
    fitted, model = [], sklearn.linear_model.LogisticRegression
    fit = model.fit
    monkeypatch.setattr(model, "fit", lambda self, x, y: fitted.append(self.C) or fit(self, x, y))
    monkeypatch.setattr(model, "score", lambda self, x, y: accuracies[len(fitted) - 1])
    monkeypatch.setattr(logistic, "_log_likelihood", lambda *_: likelihoods[len(fitted) - 1])
    result = logistic_probe(*clouds())
    assert (len(fitted), result.c) == (tried, GRID[best])


def test_the_likelihood_is_that_of_true_classes_which_were_learned():
    z, y, train, val, _ = (each.numpy() for each in clouds())
    model = sklearn.linear_model.LogisticRegression().fit(z[train[y[train] != 1]], y[train[y[train] != 1]])
    chances = model.predict_proba(z[val])  # of classes 0 and 2
    expected = sum(np.log(row[label // 2]) for row, label in zip(chances, y[val], strict=True) if label != 1)
    assert logistic._log_likelihood(model, z[val], y[val]) == pytest.approx(expected)


def test_the_test_part_chooses_nothing():
    z, y, train, val, test = clouds()
    flipped = y.clone()
    flipped[test] = (flipped[test] + 1) % 3
    one, two = logistic_probe(z, y, train, val, test), logistic_probe(z, flipped, train, val, test)
    assert (one.c, one.val_accuracy) == (two.c, two.val_accuracy)
    assert two.test_accuracy < one.test_accuracy


def test_lengths_do_not_matter_and_zero_rows_are_allowed():
    z, y, *split = clouds()
    lengths = torch.rand(len(z), 1, generator=torch.Generator().manual_seed(2)) + 0.5
    assert logistic_probe(z, y, *split) == logistic_probe(z * lengths * 4, y, *split)
    z[split[0][0]] = 0
    assert logistic_probe(z, y, *split).test_accuracy > 0.5


def test_sparse_features_give_the_result_of_dense_ones():
    z, y, *split = clouds(d=30)
    z = z * (torch.rand(z.shape, generator=torch.Generator().manual_seed(1)) < 0.3)
    sparse = SparseFeatures.from_scipy(sp.csr_matrix(z.numpy()))
    assert logistic_probe(sparse, y, *split) == logistic_probe(z, y, *split)


def test_quiet_and_repeatable():
    data = clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert logistic_probe(*data) == logistic_probe(*data)


def test_counts_as_one_probe_seed():
    z, y, *split = clouds()
    judged = score([z], y, *split, probe="logistic", seeds=range(5))
    assert judged.protocol == "over probe seeds (1 encoder × 1 probe)"
    assert judged.accuracy.mean == pytest.approx(100 * logistic_probe(z, y, *split).test_accuracy)
    assert judged.accuracy.std == 0 and judged.probe_seeds == 1
