"""The batched linear probe against a plain nn.Linear + Adam loop, one seed at a time."""

import time
from dataclasses import replace

import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import balanced_accuracy_score
from torch.nn import functional as F

from signnap.errors import SignnapError
from signnap.evaluate import ProbeSettings, linear_probe, score
from signnap.graph import SparseFeatures
from signnap.rng import generator

SHORT = ProbeSettings(epochs=60, patience=15)


def slow_probe(z, y, train, val, test, *, settings, seed, resample=None):
    """The probe, written as a plain training loop."""
    source = generator(seed, "probe")
    classes = int(y.max()) + 1
    layer = torch.nn.Linear(z.shape[1], classes)
    torch.nn.init.xavier_uniform_(layer.weight, generator=source)
    torch.nn.init.zeros_(layer.bias)
    decay = 5e-4 if settings.weight_decay is None else settings.weight_decay
    optimizer = torch.optim.Adam(layer.parameters(), lr=settings.lr, weight_decay=decay)
    best, waited = None, 0
    for epoch in range(1, settings.epochs + 1):
        logits = layer((z if resample is None else resample())[train])
        if settings.logit_dropout:
            kept = torch.rand(classes, len(train), generator=source).t() >= settings.logit_dropout
            logits = logits * kept / (1 - settings.logit_dropout)
        optimizer.zero_grad()
        F.nll_loss(F.log_softmax(logits, dim=1), y[train]).backward()
        optimizer.step()
        with torch.no_grad():
            loss = float(F.nll_loss(F.log_softmax(layer(z[val]), dim=1), y[val]))
            accuracy = float((layer(z[val]).argmax(1) == y[val]).double().mean())
        regret = {"loss": loss, "accuracy": -accuracy, "last": -epoch}[settings.choose]
        if best is None or regret <= best[0]:
            best, waited = (regret, loss, epoch, {k: v.clone() for k, v in layer.state_dict().items()}), 0
        else:
            waited += 1
            if waited >= settings.patience:
                break
    layer.load_state_dict(best[3])
    with torch.no_grad():
        found, accuracy = [layer(z[part]).argmax(1) for part in (test, val)], []
    for classes, part in zip(found, (test, val), strict=True):
        accuracy.append(float((classes == y[part]).double().mean()))
    return accuracy[0], balanced_accuracy_score(y[test], found[0]), accuracy[1], *best[1:3]


def assert_same(results, slow):
    for result, (test_accuracy, balanced, val_accuracy, loss, epoch) in zip(results, slow, strict=True):
        assert result.best_epoch == epoch
        assert result.val_loss == pytest.approx(loss, rel=1e-4)
        assert result.test_accuracy == pytest.approx(test_accuracy)
        assert result.balanced_accuracy == pytest.approx(balanced)
        assert result.val_accuracy == pytest.approx(val_accuracy)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("decay", [0.0, 5e-4])
def test_all_seeds_at_once_equal_the_plain_loop(clouds, dropout, decay):
    data, settings = clouds(), ProbeSettings(epochs=60, patience=15, logit_dropout=dropout, weight_decay=decay)
    results = linear_probe(*data, settings=settings, seeds=[3, 1, 4])
    assert [r.seed for r in results] == [3, 1, 4]
    assert len({r.best_epoch for r in results}) > 1, "the seeds should stop at different epochs here"
    assert_same(results, [slow_probe(*data, settings=settings, seed=seed) for seed in [3, 1, 4]])


@pytest.mark.parametrize("choose", ["accuracy", "last"])
def test_other_ways_to_choose_an_epoch(clouds, choose):
    data, settings = clouds(), ProbeSettings(epochs=60, patience=60, choose=choose)
    results = linear_probe(*data, settings=settings, seeds=range(3))
    assert_same(results, [slow_probe(*data, settings=settings, seed=seed) for seed in range(3)])
    assert results != linear_probe(*data, settings=replace(settings, choose="loss"), seeds=range(3))
    assert choose != "last" or {result.best_epoch for result in results} == {60}


def test_no_other_way_to_choose_an_epoch(clouds):
    with pytest.raises(SignnapError, match="unknown way to choose an epoch 'los', did you mean 'loss'"):
        linear_probe(*clouds(), settings=ProbeSettings(choose="los"))


def test_a_seed_that_has_stopped_stays_stopped(clouds):
    """With little patience and much noise, some seeds would improve again while others still run."""
    data, settings, seeds = clouds(), ProbeSettings(epochs=60, patience=1, logit_dropout=0.9), range(8)
    results = linear_probe(*data, settings=settings, seeds=seeds)
    assert_same(results, [slow_probe(*data, settings=settings, seed=seed) for seed in seeds])


def test_fresh_training_embeddings_every_epoch(clouds):
    z, y, train, val, test = clouds()

    def noisy():
        source, calls = torch.Generator().manual_seed(9), []

        def draw():
            calls.append(1)
            return z + 0.5 * torch.randn(z.shape, generator=source)

        return draw, calls

    draw, calls = noisy()
    results = linear_probe(z, y, train, val, test, settings=SHORT, seeds=[0, 1], resample=draw)
    assert_same(
        results, [slow_probe(z, y, train, val, test, settings=SHORT, seed=seed, resample=noisy()[0]) for seed in [0, 1]]
    )
    assert len(calls) == min(SHORT.epochs, max(r.best_epoch for r in results) + SHORT.patience)


def test_a_seed_does_not_depend_on_its_company(clouds):
    data = clouds()
    together = linear_probe(*data, settings=SHORT, seeds=[0, 1, 2])
    assert_same(linear_probe(*data, settings=SHORT, seeds=[2]), [tuple(vars(together[2]).values())[1:]])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_are_read_as_float32(clouds, dtype):
    z, *rest = clouds()
    z = z.bfloat16()
    expected = linear_probe(z.float(), *rest, settings=SHORT, seeds=[0])
    assert linear_probe(z.to(dtype), *rest, settings=SHORT, seeds=[0], resample=lambda: z.to(dtype)) == expected
    assert score([z.to(dtype)], *rest, probe="logistic") == score([z.float()], *rest, probe="logistic")


def test_sparse_features_give_the_result_of_dense_ones(clouds):
    z, y, *split = clouds(d=20)
    z = z * (torch.rand(z.shape, generator=torch.Generator().manual_seed(1)) < 0.3)
    sparse = SparseFeatures.from_scipy(sp.csr_matrix(z.numpy()))
    dense = linear_probe(z, y, *split, settings=SHORT, seeds=[0, 1])
    assert_same(
        linear_probe(sparse, y, *split, settings=SHORT, seeds=[0, 1]), [tuple(vars(r).values())[1:] for r in dense]
    )


def test_patience_ends_training_and_ties_go_to_the_later_epoch(clouds):
    z, y, *split = clouds()
    calls = []

    def count():
        calls.append(1)
        return z

    settings = ProbeSettings(lr=0.0, weight_decay=0.0, epochs=50, patience=5, logit_dropout=0.0)
    (still,) = linear_probe(z, y, *split, settings=settings, seeds=[0], resample=count)
    assert still.best_epoch == 50, "a loss that never changes is as good at every later epoch"
    calls.clear()
    far = ProbeSettings(lr=100.0, epochs=500, patience=5, logit_dropout=0.0)
    (wild,) = linear_probe(z, y, *split, settings=far, seeds=[0], resample=count)
    assert len(calls) == wild.best_epoch + 5 < 500


def test_order_of_nodes_does_not_matter(clouds):
    z, y, train, val, test = clouds()
    order = torch.randperm(len(z), generator=torch.Generator().manual_seed(5))
    place = order.argsort()
    one = linear_probe(z, y, train, val, test, settings=SHORT, seeds=[0])
    two = linear_probe(z[order], y[order], place[train], place[val], place[test], settings=SHORT, seeds=[0])
    assert one == two


def test_clean_clouds_are_read_and_noise_is_not(clouds):
    assert linear_probe(*clouds(noise=0.05), settings=SHORT, seeds=[0])[0].test_accuracy == 1
    _, *labels = clouds(n=1000)
    noise = torch.randn(1000, 6, generator=torch.Generator().manual_seed(3))
    assert linear_probe(noise, *labels, settings=SHORT, seeds=[0])[0].test_accuracy == pytest.approx(1 / 3, abs=0.08)


def test_embeddings_are_left_alone(clouds):
    z, y, *split = clouds()
    z.requires_grad_()
    before = z.detach().clone()
    state = torch.get_rng_state()
    linear_probe(z, y, *split, settings=SHORT, seeds=[0])
    assert z.grad is None and torch.equal(z, before) and torch.equal(torch.get_rng_state(), state)


def test_wrong_resample_shape_and_no_seeds(clouds):
    with pytest.raises(SignnapError, match=r"resampled embeddings are \(2, 3\): expected \(150, 6\)"):
        linear_probe(*clouds(), resample=lambda: torch.zeros(2, 3))
    with pytest.raises(SignnapError, match="no probe seeds"):
        linear_probe(*clouds(), seeds=[])


def test_who_watches_sees_the_first_seed_after_every_epoch(clouds):
    z, y, train, val, test = clouds()
    settings, seen = ProbeSettings(epochs=12, lr=0.02, logit_dropout=0.0), []
    watched = linear_probe(
        z, y, train, val, test, settings=settings, seeds=[3, 1], watch=lambda *told: seen.append(told)
    )
    assert watched == linear_probe(
        z, y, train, val, test, settings=settings, seeds=[3, 1]
    )  # the callback does not change the result
    assert [epoch for epoch, _, _ in seen] == [*range(1, 13)]
    for epoch, on_train, on_val in seen:  # the loss falls, so the last weights are the best
        short = ProbeSettings(epochs=epoch, lr=0.02, logit_dropout=0.0)
        result = linear_probe(z, y, train, val, test, settings=short, seeds=[3])[0]
        assert result.best_epoch == epoch and on_val == result.val_accuracy
        assert on_train == linear_probe(z, y, train, val, train, settings=short, seeds=[3])[0].test_accuracy
    assert seen[-1][1:] != seen[0][1:]


@pytest.mark.long
def test_the_inductive_case_stays_under_a_minute(clouds):
    z, y, *_ = clouds(n=34_493, d=128, classes=5, noise=8.0)
    order = torch.arange(len(z))
    began = time.perf_counter()
    linear_probe(z, y, order[:20_000], order[20_000:25_000], order[25_000:], settings=ProbeSettings(patience=1000))
    assert time.perf_counter() - began < 60
