"""The linear probe of the paper: the accuracy of one linear layer that is trained on frozen embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import SignnapError, unknown_name
from ..graph import multiply
from ..graph.arrays import Array, as_tensor
from ..rng import generator
from .inputs import Embeddings, Part, Parts, as_embeddings, balanced_accuracy, labelled_parts, take_rows

#: The weight decay of the authors, except on the Amazon graphs, where they use none.
_WEIGHT_DECAY = 5e-4

#: Called after each epoch with its number and the accuracies on training and validation nodes.
Watch = Callable[[int, float, float], None]


@dataclass(frozen=True)
class ProbeSettings:
    """How a probe is trained: Adam with L2 decay.

    ``weight_decay`` None means the value of a known data set (0 on the Amazon graphs), else 0.0005. ``choose`` selects
    the epoch that is tested: the lowest validation "loss", the highest validation "accuracy", or the "last". Training
    ends when ``patience`` epochs bring no improvement of this criterion.
    """

    lr: float = 0.1
    weight_decay: float | None = None
    epochs: int = 1000
    patience: int = 400
    logit_dropout: float = 0.5
    choose: str = "loss"


@dataclass(frozen=True)
class ProbeResult:
    """One trained probe. Accuracies lie in [0, 1], and ``best_epoch`` counts optimiser steps from 1.

    ``balanced_accuracy`` is the mean over classes of the accuracy on the test nodes of the class.
    """

    seed: int
    test_accuracy: float
    balanced_accuracy: float
    val_accuracy: float
    val_loss: float
    best_epoch: int


def linear_probe(
    embeddings: Embeddings | Array,
    y: Array | None,
    train: Array,
    val: Array,
    test: Array,
    *,
    settings: ProbeSettings | None = None,
    seeds: Sequence[int] = range(5),
    resample: Callable[[], Array] | None = None,
    watch: Watch | None = None,
) -> list[ProbeResult]:
    """Train one probe per seed, all at once, and test each with the weights of its best epoch.

    ``resample`` returns fresh embeddings of all nodes, with the shape of ``embeddings``. If it is given, the training
    rows of each epoch come from a new call, which all seeds share: the authors train the probes of GraphSAGE and GAT on
    graphs with dropped edges. Validation and test rows always come from ``embeddings``.

    ``watch`` is called after each epoch with its number and the first seed's accuracy on training and validation rows.

    Each seed has its own generator, so its result does not depend on the other seeds, up to rounding.
    """
    if not len(seeds):
        raise SignnapError("no probe seeds were given: expected at least one")
    settings = settings or ProbeSettings()
    if settings.choose not in _REGRETS:
        raise unknown_name("way to choose an epoch", settings.choose, _REGRETS)
    embeddings = as_embeddings(embeddings)
    parts, shape = labelled_parts(embeddings, y, train, val, test), tuple(embeddings.shape)
    fresh = None if resample is None else lambda: _fresh_rows(resample, shape, as_tensor(train))
    probes = _train(parts, settings, seeds, fresh, watch)
    right, on_val = probes.right(parts.test), probes.accuracies(parts.val)
    found = (right.double().mean(dim=1), balanced_accuracy(right, parts.test.y), on_val, probes.loss, probes.epoch)
    return [ProbeResult(*row) for row in zip(seeds, *(numbers.tolist() for numbers in found), strict=True)]


def _fresh_rows(resample: Callable[[], Array], shape: tuple[int, ...], train: Tensor) -> Embeddings:
    drawn = as_tensor(resample())
    if tuple(drawn.shape) != shape:
        raise SignnapError(f"resampled embeddings are {tuple(drawn.shape)}: expected {shape}")
    return take_rows(drawn.float(), train)


@dataclass
class _Probes:
    """S classifiers side by side: their weights form one matrix (d, S·C), so one matrix product serves all seeds."""

    weight: Tensor
    bias: Tensor
    loss: Tensor  # on validation nodes, one per seed
    regret: Tensor  # the best epoch has the lowest
    epoch: Tensor

    @staticmethod
    def initial(dim: int, classes: int, sources: list[torch.Generator], device: torch.device) -> _Probes:
        """Xavier-uniform weights and zero biases."""
        drawn = [torch.nn.init.xavier_uniform_(torch.empty(classes, dim), generator=source) for source in sources]
        return _Probes(
            weight=torch.cat(drawn).t().contiguous().to(device),
            bias=torch.zeros(classes * len(sources), device=device),
            loss=torch.full((len(sources),), torch.inf, device=device),
            regret=torch.full((len(sources),), torch.inf, device=device),
            epoch=torch.zeros(len(sources), dtype=torch.long, device=device),
        )

    def logits(self, x: Embeddings) -> Tensor:
        """Scores (S, C, n). With the nodes last, the softmax over few classes is fastest."""
        return (multiply(x, self.weight) + self.bias).t().unflatten(0, (len(self.loss), -1))

    def keep_better(self, other: _Probes, among: Tensor) -> None:
        """Copy the other weights for the seeds in ``among`` with no higher regret. On a tie the later epoch wins."""
        better = among & (other.regret <= self.regret)
        columns = better.repeat_interleave(len(self.bias) // len(better))
        self.weight[:, columns] = other.weight.detach()[:, columns]
        self.bias[columns] = other.bias.detach()[columns]
        for mine, theirs in ((self.loss, other.loss), (self.regret, other.regret), (self.epoch, other.epoch)):
            mine[better] = theirs[better]

    def validate(self, part: Part, epoch: int, choose: str) -> None:
        """Compute loss and regret on the validation rows after an epoch."""
        self.epoch.fill_(epoch)
        self.loss = _losses(self.logits(part.x), part.y)
        self.regret = _REGRETS[choose](self, part)

    def right(self, part: Part) -> Tensor:
        """Whether each seed predicts the right class of each node (S, n)."""
        return self.logits(part.x).argmax(dim=1) == part.y

    def accuracies(self, part: Part) -> Tensor:
        return self.right(part).double().mean(dim=1)


#: The criteria for the best epoch, as numbers of which the lowest is best.
_REGRETS: dict[str, Callable[[_Probes, Part], Tensor]] = {
    "loss": lambda probes, part: probes.loss,
    "accuracy": lambda probes, part: -probes.accuracies(part).float(),
    "last": lambda probes, part: -probes.epoch.float(),
}


def _losses(logits: Tensor, y: Tensor) -> Tensor:
    """The mean negative log-likelihood of every seed (S)."""
    return -logits.log_softmax(dim=1).gather(1, y.expand(len(logits), 1, -1)).mean(dim=(1, 2))


def _drop(logits: Tensor, share: float, sources: list[torch.Generator]) -> Tensor:
    """Dropout on the logits. Each seed draws from its own generator on the CPU, so all devices drop the same."""
    if share == 0:
        return logits
    kept = torch.stack([torch.rand(logits.shape[1:], generator=source) >= share for source in sources])
    return logits * kept.to(logits.device) / (1 - share)


def _train(
    parts: Parts,
    settings: ProbeSettings,
    seeds: Sequence[int],
    fresh: Callable[[], Embeddings] | None,
    watch: Watch | None,
) -> _Probes:
    sources = [generator(seed, "probe") for seed in seeds]
    current = _Probes.initial(parts.train.x.shape[1], parts.classes, sources, parts.train.y.device)
    best = deepcopy(current)
    active = torch.ones_like(best.loss, dtype=torch.bool)
    parameters = [current.weight.requires_grad_(), current.bias.requires_grad_()]
    decay = _WEIGHT_DECAY if settings.weight_decay is None else settings.weight_decay
    optimizer = torch.optim.Adam(parameters, lr=settings.lr, weight_decay=decay)
    for epoch in range(1, settings.epochs + 1):
        logits = current.logits(parts.train.x if fresh is None else fresh())
        optimizer.zero_grad()
        # The seeds share no parameters, so the gradient of the sum contains the gradient of each seed.
        _losses(_drop(logits, settings.logit_dropout, sources), parts.train.y).sum().backward()
        optimizer.step()
        with torch.no_grad():
            current.validate(parts.val, epoch, settings.choose)
            if watch is not None:
                watch(epoch, *(float(current.accuracies(part)[0]) for part in (parts.train, parts.val)))
        best.keep_better(current, active)
        active &= epoch - best.epoch < settings.patience
        if not active.any():
            break
    return best
