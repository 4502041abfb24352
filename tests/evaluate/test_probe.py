"""The batched linear probe against a plain nn.Linear + Adam loop, one seed at a time."""

import json
import time

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional as F

from signnap.errors import SignnapError
from signnap.evaluate import PROBES, ProbeSettings, linear_probe, score, summarize
from signnap.graph import SparseFeatures
from signnap.rng import generator

SHORT = ProbeSettings(epochs=60, patience=15)


def clouds(n=150, d=6, classes=3, noise=0.7, seed=0):
    """Labelled Gaussian clouds that overlap, and a split of 45 / 45 / rest."""
    source = torch.Generator().manual_seed(seed)
    y = torch.randint(classes, (n,), generator=source)
    centres = torch.randn(classes, d, generator=source)
    z = centres[y] + noise * torch.randn(n, d, generator=source)
    order = torch.randperm(n, generator=source)
    return z, y, order[:45], order[45:90], order[90:]


def slow_probe(z, y, train, val, test, *, settings, seed, resample=None):
    """The specification read aloud."""
    source = generator(seed, "probe")
    classes = int(y.max()) + 1
    layer = torch.nn.Linear(z.shape[1], classes)
    torch.nn.init.xavier_uniform_(layer.weight, generator=source)
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(layer.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
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
        if best is None or loss <= best[0]:
            best, waited = (loss, epoch, {k: v.clone() for k, v in layer.state_dict().items()}), 0
        else:
            waited += 1
            if waited >= settings.patience:
                break
    layer.load_state_dict(best[2])
    with torch.no_grad():
        accuracy = [float((layer(z[part]).argmax(1) == y[part]).double().mean()) for part in (test, val)]
    return *accuracy, best[0], best[1]


def assert_same(results, slow):
    for result, (test_accuracy, val_accuracy, loss, epoch) in zip(results, slow, strict=True):
        assert result.best_epoch == epoch
        assert result.val_loss == pytest.approx(loss, rel=1e-4)
        assert result.test_accuracy == pytest.approx(test_accuracy)
        assert result.val_accuracy == pytest.approx(val_accuracy)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("decay", [0.0, 5e-4])
def test_all_seeds_at_once_equal_the_plain_loop(dropout, decay):
    data, settings = clouds(), ProbeSettings(epochs=60, patience=15, logit_dropout=dropout, weight_decay=decay)
    results = linear_probe(*data, settings=settings, seeds=[3, 1, 4])
    assert [r.seed for r in results] == [3, 1, 4]
    assert len({r.best_epoch for r in results}) > 1, "the seeds should stop at different epochs here"
    assert_same(results, [slow_probe(*data, settings=settings, seed=seed) for seed in [3, 1, 4]])


def test_a_seed_that_has_stopped_stays_stopped():
    """With little patience and a nervous optimiser some seed would improve again while others still run."""
    data, settings, seeds = clouds(), ProbeSettings(lr=1.0, epochs=60, patience=2), range(8)
    results = linear_probe(*data, settings=settings, seeds=seeds)
    assert_same(results, [slow_probe(*data, settings=settings, seed=seed) for seed in seeds])


def test_fresh_training_embeddings_every_epoch():
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


def test_a_seed_does_not_depend_on_its_company():
    data = clouds()
    together = linear_probe(*data, settings=SHORT, seeds=[0, 1, 2])
    assert_same(linear_probe(*data, settings=SHORT, seeds=[2]), [tuple(vars(together[2]).values())[1:]])


def test_sparse_features_give_the_result_of_dense_ones():
    z, y, *split = clouds(d=20)
    z = z * (torch.rand(z.shape, generator=torch.Generator().manual_seed(1)) < 0.3)
    sparse = SparseFeatures.from_scipy(sp.csr_matrix(z.numpy()))
    dense = linear_probe(z, y, *split, settings=SHORT, seeds=[0, 1])
    assert_same(
        linear_probe(sparse, y, *split, settings=SHORT, seeds=[0, 1]), [tuple(vars(r).values())[1:] for r in dense]
    )


def test_patience_ends_training_and_ties_go_to_the_later_epoch():
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


def test_order_of_nodes_does_not_matter():
    z, y, train, val, test = clouds()
    order = torch.randperm(len(z), generator=torch.Generator().manual_seed(5))
    place = order.argsort()
    one = linear_probe(z, y, train, val, test, settings=SHORT, seeds=[0])
    two = linear_probe(z[order], y[order], place[train], place[val], place[test], settings=SHORT, seeds=[0])
    assert one == two


def test_clean_clouds_are_read_and_noise_is_not():
    assert linear_probe(*clouds(noise=0.05), settings=SHORT, seeds=[0])[0].test_accuracy == 1
    _, *labels = clouds(n=1000)
    noise = torch.randn(1000, 6, generator=torch.Generator().manual_seed(3))
    assert linear_probe(noise, *labels, settings=SHORT, seeds=[0])[0].test_accuracy == pytest.approx(1 / 3, abs=0.08)


def test_embeddings_are_left_alone():
    z, y, *split = clouds()
    z.requires_grad_()
    before = z.detach().clone()
    state = torch.get_rng_state()
    linear_probe(z, y, *split, settings=SHORT, seeds=[0])
    assert z.grad is None and torch.equal(z, before) and torch.equal(torch.get_rng_state(), state)


def test_a_class_that_training_lacks_is_fine():
    z, y, train, val, test = clouds()
    for probe in PROBES:
        result = score([z], y, train[y[train] != 2], val, test, probe=probe, seeds=[0])
        assert 0 < result.accuracy.mean < 100


def broken(**changes):
    z, y, train, val, test = clouds()
    return {"embeddings": z, "y": y, "train": train, "val": val, "test": test} | changes


BROKEN = {
    "no labels": (lambda d: {"y": None}, "there are no labels"),
    "missing label": (
        lambda d: {"y": d["y"].index_fill(0, d["val"][2:3], -1)},
        r"node \d+ of the validation part has no",
    ),
    "empty": (lambda d: {"test": d["test"][:0]}, "the test part of the split is empty"),
    "NaN": (
        lambda d: {"embeddings": d["embeddings"].index_fill(0, d["train"][1:2], torch.nan)},
        "holds NaN or infinity",
    ),
    "rows": (lambda d: {"embeddings": d["embeddings"][:-1]}, "149 embeddings for 150 labels"),
    "one vector": (lambda d: {"embeddings": d["embeddings"][:, 0]}, r"shape \(150,\): expected one row per node"),
    "outside": (
        lambda d: {"train": d["train"].index_fill(0, torch.tensor([0]), 150)},
        "names node 150: expected 0 to 149",
    ),
    "mask": (lambda d: {"train": torch.ones(150, dtype=torch.bool)}, "the training part holds torch.bool values"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("probe", ["linear", "logistic"])
def test_bad_input_is_one_sentence(case, probe):
    change, message = BROKEN[case]
    data = broken(**change(broken()))
    with pytest.raises(SignnapError, match=message):
        score([data.pop("embeddings")], **data, probe=probe)


def test_the_named_node_is_the_broken_one():
    data = broken()
    node = int(data["test"][7])
    data["embeddings"][node, 2] = torch.inf
    with pytest.raises(SignnapError, match=f"the embedding of node {node} holds"):
        linear_probe(**data)
    matrix = sp.csr_matrix(data["embeddings"].nan_to_num(posinf=0).numpy())
    matrix[node, 3] = np.nan
    with pytest.raises(SignnapError, match=f"the embedding of node {node} holds"):
        linear_probe(**data | {"embeddings": SparseFeatures.from_scipy(matrix)})


def test_wrong_resample_shape_and_no_seeds():
    with pytest.raises(SignnapError, match=r"resampled embeddings are \(2, 3\): expected \(150, 6\)"):
        linear_probe(*clouds(), resample=lambda: torch.zeros(2, 3))
    with pytest.raises(SignnapError, match="no probe seeds"):
        linear_probe(*clouds(), seeds=[])


def test_paper_protocol_spreads_over_probes():
    z, y, *split = clouds()
    judged = score([z], y, *split, probe="linear-plain", seeds=range(3), weight_decay=0.3)
    settings = ProbeSettings(logit_dropout=0.0, weight_decay=0.3)
    alone = [100 * r.test_accuracy for r in linear_probe(z, y, *split, settings=settings, seeds=range(3))]
    assert judged.protocol == "paper: 1 encoder seed × 3 probe seeds"
    assert (judged.encoder_seeds, judged.probe_seeds) == (1, 3)
    assert judged.runs == [alone] and judged.accuracy.values == alone
    assert judged.accuracy.mean == pytest.approx(np.mean(alone))
    assert judged.accuracy.std == pytest.approx(np.std(alone, ddof=1))


def test_honest_protocol_spreads_over_encoders():
    z, y, *split = clouds()
    others = [z, z + torch.randn(z.shape, generator=torch.Generator().manual_seed(1)), z[:, :2]]
    judged = score(others, y, *split, probe="linear", seeds=range(2), resample=[lambda z=z: z for z in others])
    means = np.mean(judged.runs, axis=1)
    assert judged.protocol == "honest: 3 encoder seeds × 2 probe seeds"
    assert judged.accuracy.values == pytest.approx(means)
    assert judged.accuracy.std == pytest.approx(np.std(means, ddof=1)) and judged.accuracy.std > 0
    as_dict = judged.as_dict()
    assert json.loads(json.dumps(as_dict)) == as_dict
    assert set(as_dict["accuracy"]) == {"mean", "std", "values"}


def test_score_says_what_it_wants():
    z, y, *split = clouds()
    with pytest.raises(SignnapError, match="unknown probe 'linaer', did you mean 'linear'"):
        score([z], y, *split, probe="linaer")
    with pytest.raises(SignnapError, match="expected a list"):
        score(z, y, *split)
    with pytest.raises(SignnapError, match="expected a list"):
        score([], y, *split)
    with pytest.raises(SignnapError, match="1 resamplers were given for 2 encoder seeds"):
        score([z, z], y, *split, resample=[lambda: z])


def test_summary():
    assert summarize([80.0]).std == 0.0
    summary = summarize([1, 2, 4])
    assert (summary.mean, summary.std) == (pytest.approx(7 / 3), pytest.approx(np.std([1, 2, 4], ddof=1)))
    assert str(summary) == "2.33 ± 1.53"
    with pytest.raises(SignnapError, match="nothing to summarise"):
        summarize([])


@pytest.mark.long
def test_the_inductive_case_stays_under_a_minute():
    z, y, *_ = clouds(n=34_493, d=128, classes=5)
    order = torch.arange(len(z))
    began = time.perf_counter()
    linear_probe(z, y, order[:20_000], order[20_000:25_000], order[25_000:], settings=ProbeSettings(patience=1000))
    assert time.perf_counter() - began < 60
